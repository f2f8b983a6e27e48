package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/history"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/history"
)

// replayed is one printed line of --replay.
type replayed struct {
	domain.Replayed

	Differs []string `json:"differs,omitempty"`
}

// replay prints the bag that each record leads to, and fails if another one is stored.
func replay(c *cobra.Command, all []history.RecordedBag) error {
	var wrong []error
	out := json.NewEncoder(c.OutOrStdout())
	out.SetEscapeHTML(false)
	for _, said := range all {
		to, err := said.Record.Replay(said.At)
		line := replayed{Replayed: to}
		if err != nil {
			line.Differs = []string{err.Error()}
		} else {
			line.Differs = to.Differs(said.Stored)
		}
		for _, what := range line.Differs {
			wrong = append(wrong, fmt.Errorf("the bag of %s is not what its record leads to: %s", said.At.Owner, what))
		}
		if err := out.Encode(line); err != nil {
			return fmt.Errorf("cannot print the bag of %s: %w", said.At.Owner, err)
		}
	}
	if len(wrong) > 0 {
		return failedError{errors.Join(wrong...)}
	}
	return nil
}
