package people

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/archive/state"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// plans is the part of the API that shows plans (JOBS.md J17).
type plans struct{ *API }

// maxPlanText is how many bytes of the text of a plan are shown. What is longer is refused: no part is approved.
const maxPlanText = 4 << 20

// send sends the plan that a run has left. It may hold secrets, so that each read is recorded.
func (a plans) send(w http.ResponseWriter, r *http.Request, c call) error {
	run, err := a.Objects.Run(r.Context(), c.namespace, c.name)
	if err != nil {
		return err
	}
	stored, err := a.Workspaces.Get(r.Context(), run.Workspace)
	if err != nil {
		return err
	}
	of := stored.Workspace
	p := of.Plan
	switch {
	case !run.Ended:
		return fmt.Errorf("cannot read the plan of JobRun %s: %w: the run has not ended", c, ErrNotFound)
	case p.Digest == "":
		return fmt.Errorf("cannot read the plan of JobRun %s: %w: it left none", c, ErrNotFound)
	case p.Fence != run.Fence:
		return fmt.Errorf("cannot read the plan of JobRun %s: %w: it left none, or %s has made a newer one: `orcon job plan %s/%s`",
			c, ErrNotFound, p.Run, c.namespace, p.Run.Name)
	}
	shown := people.RunPlan{
		TypeMeta: typeOf("JobRunPlan"), Namespace: c.namespace, Run: c.name, Digest: p.Digest, Generation: p.Generation,
	}
	_, shown.Workspace, _ = strings.Cut(of.Name, "/")
	if err := workspace.Applicable(of, p.Digest, workspace.Run{}); err != nil {
		shown.Obstacle = err.Error()
	}
	if shown.Text, err = a.text(r, p); err != nil {
		return err
	}
	about := call{person: c.person, resource: people.Workspaces, namespace: c.namespace, name: shown.Workspace}
	a.record(r, about, run.Workspace, PlanRead, "read the plan of JobRun "+c.name, "")
	return write(w, http.StatusOK, shown)
}

// text returns what a person reads of a plan; "" if there is no such file.
func (a plans) text(r *http.Request, p workspace.Plan) (string, error) {
	key, err := blob.ParseKey(p.Key)
	if err != nil {
		return "", err
	}
	in, err := a.Store.Get(r.Context(), key)
	if err != nil {
		return "", err
	}
	defer in.Close() //nolint:errcheck // it is only read
	text, err := state.ReadFile(in, contract.PlanText, maxPlanText)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("cannot read the plan of %s: %w", p.Run, err)
	}
	return string(text), nil
}
