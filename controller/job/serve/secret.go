package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/envelope"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// SecretSource reads the secrets of Runs.
type SecretSource interface {
	// Read returns the values of files, by the names of the files.
	Read(ctx context.Context, namespace string, files []run.SecretFile) (map[string][]byte, error)
}

// lender is the part of the API that hands secrets out to nodes (JOBS.md J14).
type lender struct{ *API }

// secrets sends the secrets of a Run to the node that has claimed it, sealed for the node's key.
func (a lender) secrets(w http.ResponseWriter, r *http.Request, c Caller) error {
	if a.Secrets == nil || c.Key == nil {
		return fmt.Errorf("cannot send the secrets of %s: %w: its pod has them", c.Run, ErrForbidden)
	}
	stored, err := a.Workspaces.Get(r.Context(), c.Workspace)
	if err == nil && !stored.Workspace.Lock.ClaimedBy(c.Run, c.Claimant.ID) {
		err = fmt.Errorf("cannot send the secrets of %s: %w", c.Run, workspace.ErrStale)
	}
	if err != nil {
		return err
	}
	of, err := a.Runs.Get(r.Context(), c.Run.UID)
	if err != nil {
		return err
	}
	values, err := a.Secrets.Read(r.Context(), of.Namespace, of.Secrets)
	if err != nil {
		return err
	}
	text, err := json.Marshal(values)
	if err == nil {
		text, err = envelope.Seal(c.Key, c.Run.UID, text)
	}
	if err != nil {
		return fmt.Errorf("cannot send the secrets of %s: %w", c.Run, err)
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = w.Write(text) // a caller that is gone repeats the request
	return nil
}
