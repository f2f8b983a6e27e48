package bundledeployment

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/bundle"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// publish writes the revisions and then the status, where they are not what they were.
func (j *job) publish(ctx context.Context) error {
	d, before := j.deployment, j.said
	convert.SetDeployment(d, j.standing, j.engine.Record(), j.Now())
	if j.loaded {
		if err := (revisions{j}).publish(ctx); err != nil {
			return err
		}
	} else { // what was known stays so
		was := before.Status
		d.Status.ActiveRevision, d.Status.HealthyRevision = was.ActiveRevision, was.HealthyRevision
		d.Status.FinishedObjects, d.Status.Objects = was.FinishedObjects, was.Objects
	}
	if equality.Semantic.DeepEqual(before.Status, d.Status) {
		return nil
	}
	now := before.DeepCopy()
	now.Status = *d.Status.DeepCopy()
	if err := j.Client.Status().Patch(ctx, now, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cannot write the status: %w", err)
	}
	j.said = now
	j.news(before)
	return nil
}

// news writes an Event when the deployment becomes ready, or why it is not, and when others
// have changed something, whatever else is the matter.
func (j *job) news(before *v1alpha1.BundleDeployment) {
	conditions := j.deployment.Status.Conditions
	if len(j.standing.Drift) > 0 && len(before.Status.Drift) == 0 {
		kind := corev1.EventTypeWarning
		if meta.IsStatusConditionTrue(conditions, string(domain.Healthy)) {
			kind = corev1.EventTypeNormal
		}
		j.say(kind, domain.ReasonDrifted, j.standing.DriftDetails())
	}
	ready := meta.FindStatusCondition(conditions, string(condition.Ready))
	old := meta.FindStatusCondition(before.Status.Conditions, string(condition.Ready))
	reason, details := j.standing.Summary()
	switch {
	case reason == domain.ReasonDrifted: // told above
	case ready == nil || old != nil && old.Status == ready.Status && old.Reason == ready.Reason:
	case ready.Status == "True" || ready.Reason == string(domain.Progressing):
		j.say(corev1.EventTypeNormal, reason, details)
	default:
		j.warn(reason, details)
	}
}

// corrected writes an Event for each change of others that was undone.
func (j *job) corrected(kept *bundle.Kept) {
	for _, d := range kept.Drift {
		if slices.ContainsFunc(kept.Failures, func(f domain.Failure) bool { return f.ID == d.ID }) {
			continue
		}
		done := "; Orcon undid the change"
		if d.Deleted {
			done = "; Orcon created it again"
		}
		j.say(corev1.EventTypeNormal, "Corrected", d.String()+done)
	}
}

func (j *job) warn(reason, note string) { j.say(corev1.EventTypeWarning, reason, note) }

func (j *job) say(kind, reason, note string) {
	object.WriteEvent(j.Events, j.deployment, kind, "Deploy", reason, note)
}
