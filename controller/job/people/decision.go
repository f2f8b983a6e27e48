package people

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/evidence"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/spelling"
)

// decide carries out a person's decision.
func (a *API) decide(w http.ResponseWriter, r *http.Request, c call) error {
	d, err := decisionOf(w, r)
	if err != nil {
		return err
	}
	uid, err := a.Objects.Workspace(r.Context(), c.namespace, c.name)
	if err != nil {
		return err
	}
	if d.Remedy == people.Adopt {
		return a.adopt(w, r, c, uid, d)
	}
	next, err := serve.Change(r.Context(), a.Workspaces, uid, func(w workspace.Workspace) (workspace.Workspace, error) {
		return a.decided(r.Context(), uid, w, d, c.person.Name)
	})
	if err != nil {
		return err
	}
	serve.Records{Store: a.Store}.Generation(r.Context(), uid, next)
	a.record(r, c, uid, StateDecided, "decided "+describe(d), d.Because)
	shown, err := a.show(r.Context(), c, uid)
	if err != nil {
		return fmt.Errorf("the decision about %s is stored, but its state cannot be shown: %w", c, err)
	}
	return write(w, http.StatusOK, shown)
}

// decisionOf reads a decision.
func decisionOf(w http.ResponseWriter, r *http.Request) (people.Decision, error) {
	var d people.Decision
	in := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxMessage))
	in.DisallowUnknownFields()
	if err := in.Decode(&d); err != nil {
		return d, fmt.Errorf("cannot read the decision: %w: %w", workspace.ErrInvalid, err)
	}
	d.Because = strings.TrimSpace(d.Because)
	if d.Because == "" {
		return d, invalid("because", "it is empty: give the reason, for those who read of the decision later")
	}
	known := []string{
		string(workspace.AcceptGeneration), string(workspace.AcceptCheckpoint), string(workspace.AcceptOrphan), string(workspace.Retry),
		string(workspace.Discard), people.Adopt, people.Rollback, people.StoreNewest, people.StoreIgnore,
	}
	if !slices.Contains(known, d.Remedy) {
		cure := "use one of " + strings.Join(known, ", ")
		if near := spelling.Nearest(d.Remedy, known); near != "" {
			cure = fmt.Sprintf("did you mean %q?", near)
		}
		return d, invalid("remedy", fmt.Sprintf("%q is unknown: %s", d.Remedy, cure))
	}
	return d, nil
}

// decided returns a Workspace after a decision that is allowed.
func (a *API) decided(ctx context.Context, uid string, w workspace.Workspace, d people.Decision, by string) (workspace.Workspace, error) {
	extent, err := evidence.Extent(ctx, a.Store, uid, w)
	if err != nil {
		return w, err
	}
	if d.Remedy == people.Rollback {
		return w.Rollback(d.To, d.Generation, by, extent)
	}
	uploaded, err := evidence.Uploaded(ctx, a.Store, uid, w, a.Limits.State)
	if err != nil {
		return w, err
	}
	if d.Remedy == people.StoreNewest || d.Remedy == people.StoreIgnore {
		newest, _, err := evidence.Newest(ctx, a.Store, uid)
		if err != nil {
			return w, err
		}
		return w.AcceptStore(workspace.Restored{
			Newest: newest, Adopt: d.Remedy == people.StoreNewest, By: by, Extent: extent, Uploaded: uploaded, Now: a.Clock(),
		})
	}
	return w.Decide(workspace.Verdict{
		Remedy: workspace.Remedy(d.Remedy), Fence: d.Fence, Seen: d.Generation, Orphan: d.Orphan, Torn: d.Torn,
		By: by, Extent: extent, Uploaded: uploaded, Now: a.Clock(),
	})
}

// describe returns a decision for the Journal.
func describe(d people.Decision) string {
	switch {
	case d.Remedy == people.Rollback:
		return fmt.Sprintf("%s to generation %d", d.Remedy, d.To)
	case d.Orphan != "":
		return d.Remedy + " of " + d.Orphan
	}
	return fmt.Sprintf("%s for fence %d", d.Remedy, d.Fence)
}
