package run

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// The names of actions that have a part in plans.
const (
	deploy  = "deploy"
	planner = "plan"
	check   = "check"
)

// Planned returns the action that an action plans: plan is for deploy, and plan-NAME for NAME; "" for another action.
func Planned(action string) string {
	if action == planner {
		return deploy
	}
	name, plans := strings.CutPrefix(action, planner+"-")
	if !plans {
		return ""
	}
	return name
}

// Planner returns the action that plans an action.
func Planner(action string) string {
	if action == deploy {
		return planner
	}
	return planner + "-" + action
}

// Ungated reports whether an action needs no approval: it makes a plan, or it is check.
func Ungated(action string) bool { return action == check || Planned(action) != "" }

// ErrUnapproved is wrapped where a Run needs an approval.
var ErrUnapproved = errors.New("it needs the approval of a plan")

// Unapproved returns why a Run of an action is refused where plans must be approved.
func Unapproved(action, name string) error {
	return fmt.Errorf("cannot run %s: %w: make one with `orcon job run %s --action %s`, look at it, then `orcon job approve RUN`",
		action, ErrUnapproved, name, Planner(action))
}

// Plans reports whether a run with this input may leave a plan.
func (i Input) Plans() bool { return len(i.Planned.Entrypoint) > 0 }

// Consent returns why the plan of a Run of a Workspace, which has a digest, may not be applied: no person has approved it, or not
// any more, or another Run has left a newer one, which may have the same digest. Approved are the digests of plans of that Run
// that persons have approved.
func Consent(w workspace.Workspace, plan, digest string, approved []string) error {
	if p := w.Plan; p.Digest != "" && p.Run.Name != plan {
		return fmt.Errorf("cannot apply the plan of Run %s: %w: %s has made a newer one: `orcon job approve %s`",
			plan, workspace.ErrReplaced, p.Run, workspace.Named(w, p.Run.Name))
	}
	if slices.Contains(approved, digest) {
		return nil
	}
	return fmt.Errorf("cannot apply the plan of Run %s: %w: `orcon job approve %s`", plan, ErrUnapproved, workspace.Named(w, plan))
}

// Application has the facts by which a Run that applies a plan is judged.
type Application struct {
	// Plan is the name of the Run that made the plan, By the Run that applies it.
	Plan string
	By   workspace.Run
	// Approved are the digests of plans of that Run that persons have approved.
	Approved []string
	// Fresh is the input with which the plan would be made now.
	Fresh Input
}

// Apply returns the input of a Run that applies the plan of a Workspace: exactly what a person has approved. It wraps
// workspace.ErrVoid if the state or the input has changed since the plan was made, so that another plan is due.
func (a Application) Apply(w workspace.Workspace) (Input, error) {
	cannot := fmt.Sprintf("cannot apply the plan of Run %s", a.Plan)
	p := w.Plan
	applicable, unapproved := workspace.Applicable(w, p.Digest, a.By), Consent(w, a.Plan, p.Digest, a.Approved)
	switch digest, err := a.Fresh.Digest(); {
	case p.Digest == "":
		return Input{}, fmt.Errorf("%s: %w", cannot, applicable)
	case unapproved != nil:
		return Input{}, unapproved
	case err != nil:
		return Input{}, fmt.Errorf("%s: %w", cannot, err)
	case applicable != nil:
		return Input{}, fmt.Errorf("%s: %w", cannot, applicable)
	case digest != p.Input:
		return Input{}, fmt.Errorf("%s: %w: template, parameters or secrets have changed since it was made", cannot, workspace.ErrVoid)
	}
	i := a.Fresh
	i.Action, i.Entrypoint, i.Args = Planned(i.Action), i.Planned.Entrypoint, i.Planned.Args
	i.Planned, i.Plan = Action{}, p.Digest
	return i, nil
}

// PlanChanged returns the end of a Run whose plan is void. Another one is made by the Run again in the same namespace.
func PlanChanged(why error, namespace, again string) Status {
	return unstarted(Rejected, ReasonPlanChanged, fmt.Sprintf("%v: JobRun %s plans again: `orcon job approve %s/%[2]s`", why, again, namespace))
}
