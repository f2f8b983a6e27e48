package fleet

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/value"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/fleet/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// maxListed bounds the waits and faults that a status lists, maxText the characters of each.
const (
	maxListed = 20
	maxText   = 1024
)

// publish writes the status where it is not what it was, and an Event when the reason changes.
func (l *look) publish(ctx context.Context) error {
	set, before := l.set, l.said
	s := &set.Status
	s.ObservedGeneration = set.Generation
	l.result.Approve = fmt.Sprintf("orcon fleet approve %s -n %s", set.Name, set.Namespace)
	s.Conditions = value.SetConditions(s.Conditions, l.result.Conditions(), set.Generation, l.Now())
	if l.result.Stop == nil || l.result.Wanted != nil {
		l.tell(s)
		measure(client.ObjectKeyFromObject(l.set), l.result, l.memory.fetched)
	}
	if equality.Semantic.DeepEqual(before.Status, set.Status) {
		return nil
	}
	now := before.DeepCopy()
	now.Status = *set.Status.DeepCopy()
	if err := client.IgnoreNotFound(l.Client.Status().Patch(ctx, now, client.MergeFrom(before))); err != nil {
		return fmt.Errorf("cannot write the status: %w", err)
	}
	l.news(before)
	return nil
}

// tell describes the members.
func (l *look) tell(s *v1alpha1.IntegrationSetStatus) {
	r := l.result
	s.Data, s.Members, s.ReadyMembers, s.Elsewhere = l.memory.resolved, int64(len(r.Wanted)), int64(r.Ready()), int64(l.elsewhere)
	s.Images = l.images
	s.Faults, s.Waits, s.Removal, s.Plan = nil, nil, nil, nil
	if plans := r.Plans(); len(plans) > 0 {
		s.Plan = &v1alpha1.IntegrationPlan{Digest: bundle.DigestOfPlans(plans), Members: value.FromInt(len(plans))}
	}
	for _, fault := range r.Faults[:min(len(r.Faults), maxListed)] {
		s.Faults = append(s.Faults, condition.Cut(fault, maxText))
	}
	unready := r.Unready()
	for _, w := range unready[:min(len(unready), maxListed)] {
		s.Waits = append(s.Waits, v1alpha1.IntegrationWait{Member: condition.Cut(w.String(), maxText), Message: condition.Cut(w.Why, maxText)})
	}
	if r.Removal != nil {
		s.Removal = &v1alpha1.IntegrationRemoval{
			Digest: r.Removal.Digest, Workloads: value.FromInt(r.Removal.Workloads), Message: condition.Cut(r.Removal.String(), maxText),
		}
	}
}

// news writes an Event when the set becomes ready, or why it is not.
func (l *look) news(before *v1alpha1.IntegrationSet) {
	ready := meta.FindStatusCondition(l.set.Status.Conditions, string(condition.Ready))
	old := meta.FindStatusCondition(before.Status.Conditions, string(condition.Ready))
	if ready == nil || old != nil && old.Status == ready.Status && old.Reason == ready.Reason {
		return
	}
	kind := corev1.EventTypeNormal
	if meta.IsStatusConditionTrue(l.set.Status.Conditions, string(condition.Stalled)) {
		kind = corev1.EventTypeWarning
	}
	object.WriteEvent(l.Events, l.set, kind, "Stamp", ready.Reason, ready.Message)
}
