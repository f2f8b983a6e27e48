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
	// Check returns why files cannot have values. It makes none.
	Check(ctx context.Context, namespace string, files []run.SecretFile) error
	// Read returns the values of files, by the names of the files. Tokens are minted anew.
	Read(ctx context.Context, namespace string, files []run.SecretFile) (map[string][]byte, error)
}

// lender is the part of the API that hands secrets out (JOBS.md J14).
type lender struct{ *API }

// secrets sends the secrets of a Run to what has claimed it: all of them, sealed for its key, to a node, and tokens, which the
// kubelet does not have, to a pod.
func (a lender) secrets(w http.ResponseWriter, r *http.Request, c Caller) error {
	stored, err := a.Workspaces.Get(r.Context(), c.Workspace)
	if err == nil && !stored.Workspace.Lock.ClaimedBy(c.Run, c.Claimant.ID) {
		err = fmt.Errorf("cannot send the secrets of %s: %w", c.Run, workspace.ErrStale)
	}
	if err != nil {
		return err
	}
	of, err := a.Runs.Frozen(r.Context(), c.Run.UID)
	if err != nil {
		return err
	}
	files := of.Secrets
	if c.Key == nil {
		files = run.Minted(files)
	}
	values, err := a.Secrets.Read(r.Context(), of.Namespace, files)
	if err != nil {
		return err
	}
	text, err := json.Marshal(values)
	if err == nil && c.Key != nil {
		text, err = envelope.Seal(c.Key, c.Run.UID, text)
	}
	if err != nil {
		return fmt.Errorf("cannot send the secrets of %s: %w", c.Run, err)
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = w.Write(text) // a caller that is gone repeats the request
	return nil
}
