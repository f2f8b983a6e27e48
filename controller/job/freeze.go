package job

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/templates"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/job"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
)

// workspaceKind is the kind of the owner of a Run.
const workspaceKind = "JobWorkspace"

// freezing gives Runs what never changes.
type freezing struct{ *look }

// keep adds the finalizer to a new Workspace.
func (l freezing) keep(ctx context.Context) error {
	before := l.o.DeepCopy()
	if !controllerutil.AddFinalizer(l.o, v1alpha1.Finalizer) {
		return nil
	}
	if err := l.patch(ctx, l.o, before); err != nil {
		return fmt.Errorf("cannot add the finalizer: %w", err)
	}
	return nil
}

// freeze gives new Runs their input. One that can never have one ends.
func (l freezing) freeze(ctx context.Context) error {
	for _, e := range l.runs {
		if e.ended() || e.frozen() || convert.Cancelled(e.JobRun) {
			continue
		}
		if err := l.latest(ctx); err != nil {
			return err
		}
		input, err := l.input(ctx, e.JobRun)
		missing, absent := errors.AsType[*templates.MissingError](err)
		switch {
		case absent:
			e.decided = run.Missing(missing.Error())
		case errors.Is(err, templates.ErrUnread), errors.Is(err, errBehind):
			return err
		case err != nil:
			e.decided = refusal(e.JobRun, err)
		default:
			if err := l.store(ctx, e, input); convert.TooLarge(err) {
				e.decided = run.Refused(fmt.Errorf("its input is too large for a JobRun: give JobWorkspace %s fewer or shorter parameters: %w",
					l.name.Name, err))
			} else if err != nil {
				return fmt.Errorf("cannot freeze the input of JobRun %s: %w", e.Name, err)
			}
		}
	}
	return nil
}

// latest returns an error if the API server has another spec of the Workspace than the cache: a Run gets what was written
// before it was created.
func (l freezing) latest(ctx context.Context) error {
	now := &v1alpha1.JobWorkspace{}
	if err := l.Reader.Get(ctx, l.name, now); err != nil {
		return fmt.Errorf("cannot read the JobWorkspace again: %w", err)
	}
	if now.UID != l.o.UID || !equality.Semantic.DeepEqual(now.Spec, l.o.Spec) {
		return errBehind
	}
	return nil
}

// store writes the input of a Run, its finalizer and its owner.
func (l freezing) store(ctx context.Context, e *execution, input run.Input) error {
	before := e.DeepCopy()
	if err := convert.SetInput(e.JobRun, input); err != nil {
		return err
	}
	controllerutil.AddFinalizer(e.JobRun, v1alpha1.Finalizer)
	e.OwnerReferences = append(e.OwnerReferences, metav1.OwnerReference{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: workspaceKind, Name: l.o.Name, UID: l.o.UID,
	})
	if err := l.patch(ctx, e.JobRun, before); err != nil {
		e.JobRun = before
		return err
	}
	e.written = true
	return nil
}

// input returns what a Run is frozen to. A Workspace that is deleted needs no template: what its last run had suffices.
func (l freezing) input(ctx context.Context, o *v1alpha1.JobRun) (run.Input, error) {
	if !l.o.DeletionTimestamp.IsZero() {
		if last, found, err := l.lastInput(ctx); found || err != nil {
			if err != nil {
				return run.Input{}, err
			}
			return last.Undo()
		}
	}
	switch {
	case o.Spec.Plan != "":
		return l.applied(ctx, o)
	case l.o.Spec.Approval == v1alpha1.ApprovalPlan && !run.Ungated(o.Spec.Action):
		return run.Input{}, run.Unapproved(o.Spec.Action, l.w.Name)
	}
	return l.fresh(ctx, o.Spec.Action)
}

// approved returns the digests of plans of a Run that persons have approved. They are read from the API server: a refusal is
// final.
func (l freezing) approved(ctx context.Context, plan string) (digests []string, err error) {
	var list v1alpha1.JobApprovalList
	if err := l.Reader.List(ctx, &list, client.InNamespace(l.name.Namespace)); err != nil {
		//nolint:errorlint // no template is missing
		return nil, fmt.Errorf("cannot list the JobApprovals: %w: %v", templates.ErrUnread, err)
	}
	for _, one := range list.Items {
		if one.Spec.Run == plan && one.DeletionTimestamp.IsZero() && convert.Approves(&one, l.w.Plan.Run) {
			digests = append(digests, one.Spec.PlanDigest)
		}
	}
	return digests, nil
}

// applied returns the input of a Run that applies a plan.
func (l freezing) applied(ctx context.Context, o *v1alpha1.JobRun) (run.Input, error) {
	a := run.Application{Plan: o.Spec.Plan, By: convert.ToRun(o)}
	var err error
	if a.Approved, err = l.approved(ctx, a.Plan); err != nil {
		return run.Input{}, err
	}
	if a.Fresh, err = l.fresh(ctx, run.Planner(o.Spec.Action)); err != nil {
		return run.Input{}, err
	}
	return a.Apply(l.w)
}

// fresh returns the input of an action by the template and the parameters as they are now. The template is read from the
// API server; the lock is taken by the safety that the cache has, so both have to agree on it.
func (l freezing) fresh(ctx context.Context, action string) (run.Input, error) {
	program, err := templates.Find(ctx, l.Reader, l.o)
	switch {
	case err != nil:
		return run.Input{}, err
	case program.Safety() != l.w.Terms.Safety:
		return run.Input{}, errBehind
	}
	t, err := program.Runnable()
	if err != nil {
		return run.Input{}, err
	}
	parameters, err := convert.ToParameters("spec.parameters", l.o.Spec.Parameters)
	if err != nil {
		return run.Input{}, fmt.Errorf("cannot use JobWorkspace %s: %w", l.name.Name, err)
	}
	input, err := t.Freeze(action, parameters, convert.ToSecrets(l.o.Spec.Secrets))
	if err != nil {
		cure := "create another JobRun"
		if _, known := t.Actions[action]; known {
			cure = "correct JobWorkspace " + l.name.Name + ", then " + cure
		}
		return run.Input{}, fmt.Errorf("%w: %s", err, cure)
	}
	input.Target = convert.ToTarget(l.o.Spec.Target)
	return input, nil
}

// lastInput returns the input of the last Run that held the lock, which the cache may not have; false if there is none.
func (l freezing) lastInput(ctx context.Context) (run.Input, bool, error) {
	var last *execution
	for _, e := range l.runs {
		if fence := l.fenceOf(e); fence > 0 && (last == nil || fence > l.fenceOf(last)) {
			last = e
		}
	}
	if last == nil {
		return run.Input{}, false, nil
	}
	o := &v1alpha1.JobRun{}
	err := l.Reader.Get(ctx, client.ObjectKeyFromObject(last.JobRun), o)
	if err != nil || o.UID != last.UID {
		//nolint:errorlint // a Run that is gone is no template that is missing
		return run.Input{}, false, fmt.Errorf("cannot read the input of JobRun %s, the last one: %w: %v", last.Name, templates.ErrUnread, err)
	}
	return convert.ToInput(o)
}

// fenceOf returns the last fence of a Run, whose end the Workspace may have before its own status; 0 if it never had the lock.
func (l freezing) fenceOf(e *execution) int64 {
	switch r := convert.ToRun(e.JobRun); r {
	case l.w.Lock.Run:
		return l.w.Lock.Fence
	case l.w.Last.Run:
		return l.w.Last.Fence
	}
	return e.published.Fence
}

// limit notes the timeout of the Run that holds the lock once it has passed.
func (l freezing) limit(ctx context.Context) error {
	e := l.find(l.w.Lock.Run)
	if e == nil || e.ended() || e.Spec.Timeout == nil || convert.TimedOut(e.JobRun) {
		return nil
	}
	if left := l.w.Lock.Since.Add(e.Spec.Timeout.Duration).Sub(l.Now()); left > 0 {
		l.within(left + time.Millisecond)
		return nil
	}
	before := e.DeepCopy()
	convert.SetTimedOut(e.JobRun)
	if err := l.patch(ctx, e.JobRun, before); err != nil {
		return fmt.Errorf("cannot note the timeout of JobRun %s: %w", e.Name, err)
	}
	return nil
}
