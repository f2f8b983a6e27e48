package job

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/job"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/evidence"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
)

// farewell is the step of the deletion of a Workspace.
type farewell struct {
	step run.Farewell
	why  string
}

// leaving is the deletion of a Workspace.
type leaving struct{ *look }

// leave does the next step of the deletion of a Workspace, and reports whether it is let go.
func (l leaving) leave(ctx context.Context) (gone bool, err error) {
	if !controllerutil.ContainsFinalizer(l.o, v1alpha1.Finalizer) {
		return true, nil
	}
	d, begun, err := l.deletion(ctx)
	if err != nil {
		return false, err
	}
	if d.Destroy && !begun {
		l.memories.destroying.Lock()
		defer l.memories.destroying.Unlock()
		if d.Destroys, err = l.destroys(ctx); err != nil {
			return false, err
		}
	}
	step, why := run.EndOf(l.w, d)
	l.farewell = &farewell{step, why}
	switch {
	case step == run.LetGo:
		return l.depart(ctx, d)
	case step == run.StartDestroy && !begun:
		err = l.destroy(ctx)
	}
	if err != nil {
		return false, err
	}
	return false, l.cancel(ctx)
}

// depart lets the Workspace go once all its Runs have ended and their output is stored. It waits for nothing if more than
// the Workspace is being deleted.
func (l leaving) depart(ctx context.Context, d run.Deletion) (gone bool, err error) {
	for _, do := range []func(context.Context) error{l.cancel, ending(l).end, relating(l).relate, ending(l).clear} {
		if err := do(ctx); err != nil {
			return false, err
		}
	}
	waits := slices.ContainsFunc(l.runs, func(e *execution) bool { return !e.ended() || e.drains })
	together := d.Namespace || d.Definition || d.Orcon
	if waits && !together {
		return false, nil
	}
	if err := l.bequeath(ctx, d.Destroyed); err != nil && !together {
		l.farewell.why = err.Error()
		l.fail(err)
		return false, nil
	}
	return true, l.letGo(ctx)
}

// bequeath records in the store which states the Workspace leaves there. If it cannot, the collector does so later.
func (l leaving) bequeath(ctx context.Context, destroyed bool) error {
	if l.w.Fence == 0 {
		return nil
	}
	return evidence.Leave(ctx, l.Store, evidence.Left{
		Name: l.w.Name, UID: string(l.o.UID), Generation: l.w.State.Number, Archive: l.w.State.Blob, Destroyed: destroyed,
	})
}

// letGo removes the finalizer. Runs that have not ended follow: their Workspace is gone.
func (l leaving) letGo(ctx context.Context) error {
	before := l.o.DeepCopy()
	controllerutil.RemoveFinalizer(l.o, v1alpha1.Finalizer)
	if err := client.IgnoreNotFound(l.patch(ctx, l.o, before)); err != nil {
		return fmt.Errorf("cannot let the JobWorkspace go: %w", err)
	}
	return nil
}

// deletion describes the deletion of a Workspace, and reports whether its destroy run is there.
func (l leaving) deletion(ctx context.Context) (d run.Deletion, begun bool, err error) {
	d = run.Deletion{Now: l.Now(), Begun: l.o.DeletionTimestamp.Time}
	d.Confirmed = l.o.Annotations[v1alpha1.ConsentKey] == v1alpha1.ConsentDestroy
	made := l.w.Last.Fence > 0 || l.w.State.Digest != "" // by a run, or before it was pushed or adopted
	d.Destroy = l.o.Spec.DeletionPolicy == v1alpha1.DeletionPolicyDestroy && made
	stalled := meta.FindStatusCondition(l.o.Status.Conditions, string(condition.Stalled))
	d.Waiting = stalled != nil && stalled.Status == metav1.ConditionTrue && stalled.Reason == string(run.AwaitConsent)
	if d.Namespace, err = l.going(ctx, l.name.Namespace); err != nil {
		return d, false, err
	}
	if l.Home != "" {
		if d.Orcon, err = l.going(ctx, l.Home); err != nil {
			return d, false, err
		}
	}
	definition, err := object.Definition(ctx, l.Reader, "jobworkspaces")
	if err != nil {
		return d, false, err
	}
	d.Definition = !definition.DeletionTimestamp.IsZero()
	if d.Extent, err = l.extent(ctx); err != nil {
		l.fail(err)
	}
	if last := l.lastDestroy(); last != nil {
		begun, d.Confirmed = !last.ended(), d.Confirmed || !last.ended()
		d.Destroyed = last.published.Phase == run.Succeeded
		d.DestroyFailed = last.ended() && !d.Destroyed
	}
	return d, begun, nil
}

// going reports whether a namespace is being deleted.
func (l leaving) going(ctx context.Context, name string) (bool, error) {
	var namespace corev1.Namespace
	if err := l.Reader.Get(ctx, client.ObjectKey{Name: name}, &namespace); err != nil {
		return false, fmt.Errorf("cannot find out whether namespace %s is being deleted: %w", name, err)
	}
	return !namespace.DeletionTimestamp.IsZero(), nil
}

// lastDestroy returns the newest destroy run of the deletion; nil for none.
func (l leaving) lastDestroy() *execution {
	var last *execution
	for _, e := range l.runs {
		if l.isDestroy(e.JobRun) && (last == nil || last.CreationTimestamp.Before(&e.CreationTimestamp)) {
			last = e
		}
	}
	return last
}

// destroys returns when the last destroy runs of other Workspaces began.
func (l leaving) destroys(ctx context.Context) (times []time.Time, err error) {
	var list v1alpha1.JobRunList
	if err := l.Reader.List(ctx, &list, client.HasLabels{v1alpha1.DestroyLabel}); err != nil {
		return nil, fmt.Errorf("cannot list the destroy runs: %w", err)
	}
	for _, o := range list.Items {
		if o.Namespace != l.name.Namespace || o.Spec.Workspace != l.name.Name {
			times = append(times, o.CreationTimestamp.Time)
		}
	}
	return times, nil
}

// destroy makes the destroy run.
func (l leaving) destroy(ctx context.Context) error {
	o := &v1alpha1.JobRun{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: l.name.Namespace, Name: fmt.Sprintf("%s-%.6s", l.name.Name, l.o.UID),
			Labels: map[string]string{v1alpha1.DestroyLabel: l.name.Name},
		},
		Spec: v1alpha1.JobRunSpec{Workspace: l.name.Name, Action: run.Destroy},
	}
	if err := l.Client.Create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("cannot make the destroy run: %w", err)
	}
	return nil
}

// cancel cancels all Runs but those that destroy.
func (l leaving) cancel(ctx context.Context) error {
	for _, e := range l.runs {
		if e.ended() || l.isDestroy(e.JobRun) || convert.Cancelled(e.JobRun) {
			continue
		}
		before := e.DeepCopy()
		e.Spec.Cancel = v1alpha1.CancelRequested
		if err := client.IgnoreNotFound(l.patch(ctx, e.JobRun, before)); err != nil {
			return fmt.Errorf("cannot cancel JobRun %s: %w", e.Name, err)
		}
	}
	return nil
}
