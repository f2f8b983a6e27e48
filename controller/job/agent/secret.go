package agent

import (
	"context"
	"encoding/json"
	"fmt"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/envelope"
)

// SealedSecrets has the secrets of a run, which are sealed for the key of the node.
type SealedSecrets struct {
	Connection *Connection
	// Run is the UID of the Run, Sealed fetches its secrets.
	Run    string
	Sealed func(ctx context.Context) ([]byte, error)
}

// Secrets returns the values by the names of their files.
func (s SealedSecrets) Secrets(ctx context.Context) (values map[string][]byte, err error) {
	sealed, err := s.Sealed(ctx)
	if err != nil {
		return nil, err
	}
	key, err := s.Connection.Identity().private()
	if err != nil {
		return nil, err
	}
	text, err := envelope.Open(key, s.Run, sealed)
	if err == nil {
		err = json.Unmarshal(text, &values)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot use the secrets of the run: %w", err)
	}
	return values, nil
}
