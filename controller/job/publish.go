package job

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/job"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/value"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// publication writes statuses.
type publication struct{ *look }

// starts reports that nothing is wrong with an attempt that was begun a moment ago.
func (l publication) starts() bool {
	e := l.find(l.w.Lock.Run)
	return e != nil && e.pod.Obstacle == "" && len(l.failed) == 0 && holding(l).fresh()
}

// publish writes what is derived into the statuses that differ from it. An end is shown once it is stored.
func (l publication) publish(ctx context.Context) error {
	if l.starts() {
		l.within(l.ClaimWait)
		return nil
	}
	queued := 0
	for _, e := range l.runs {
		s := l.status(e)
		if s.Ended() && !e.ended() {
			continue
		}
		if s.Phase == run.Queued {
			queued++
		}
		if err := l.publishRun(ctx, e.JobRun, s); err != nil {
			return err
		}
	}
	if _, err := l.extent(ctx); err != nil { // also where no Run waits: a person sees at once that the store is ahead
		l.fail(err)
	}
	before := l.o.DeepCopy()
	conditions := workspace.Conditions(l.w, l.memory.extent)
	if f := l.farewell; f != nil {
		conditions = f.step.Conditions(f.why)
	}
	convert.SetStanding(l.o, l.w, l.memory.extent, queued, append(conditions, checking(l).drift()...), l.Now())
	return l.publishWorkspace(ctx, before.Status.Conditions, before)
}

// publishUnreadable writes that the state of the Workspace cannot be read.
func (l publication) publishUnreadable(ctx context.Context) error {
	before := l.o.DeepCopy()
	l.o.Status.ObservedGeneration = l.o.Generation
	l.o.Status.Conditions = value.SetConditions(l.o.Status.Conditions, workspace.Unreadable(l.unreadable), l.o.Generation, l.Now())
	return l.publishWorkspace(ctx, before.Status.Conditions, before)
}

// publishWorkspace writes the status of the Workspace if it differs.
func (l publication) publishWorkspace(ctx context.Context, old []metav1.Condition, before client.Object) error {
	if equality.Semantic.DeepEqual(before, client.Object(l.o)) {
		return nil
	}
	if err := client.IgnoreNotFound(l.Client.Status().Patch(ctx, l.o, client.MergeFrom(before))); err != nil {
		return fmt.Errorf("cannot write the status of the JobWorkspace: %w", err)
	}
	l.news(l.o, "Keep", old, l.o.Status.Conditions)
	return nil
}

// publishRun writes the status of a Run if it differs. That of one that is settled does not, and the cache has not all of it.
func (r *Reconciler) publishRun(ctx context.Context, o *v1alpha1.JobRun, s run.Status) error {
	if settled(o) {
		return nil
	}
	before := o.DeepCopy()
	convert.SetRun(o, s, r.Now())
	if equality.Semantic.DeepEqual(before.Status, o.Status) {
		return nil
	}
	if err := client.IgnoreNotFound(r.Client.Status().Patch(ctx, o, client.MergeFrom(before))); err != nil {
		return fmt.Errorf("cannot write the status of JobRun %s: %w", o.Name, err)
	}
	r.news(o, "Run", before.Status.Conditions, o.Status.Conditions)
	return nil
}

// news writes an Event where the reason of Ready is another one.
func (r *Reconciler) news(about runtime.Object, action string, before, after []metav1.Condition) {
	ready, old := meta.FindStatusCondition(after, string(condition.Ready)), meta.FindStatusCondition(before, string(condition.Ready))
	if r.Events == nil || ready == nil || old != nil && old.Status == ready.Status && old.Reason == ready.Reason {
		return
	}
	kind, note := corev1.EventTypeNormal, ready.Message
	for _, t := range []condition.Type{condition.Reconciling, condition.Stalled} {
		if c := meta.FindStatusCondition(after, string(t)); c != nil && c.Status == metav1.ConditionTrue {
			note = c.Message
		}
	}
	if meta.IsStatusConditionTrue(after, string(condition.Stalled)) {
		kind = corev1.EventTypeWarning
	}
	object.WriteEvent(r.Events, about, kind, action, ready.Reason, note)
}
