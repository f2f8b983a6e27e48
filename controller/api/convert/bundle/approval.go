package bundle

import (
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// ToApproval returns the approval of a deployment's plan; approves is false if it is for others. The error names objects
// that are confirmed and not held, or says that the digest of several plans is not theirs.
func ToApproval(a *v1alpha1.Approval, deployment string, p bundle.Plan) (approval bundle.Approval, approves bool, err error) {
	approval = bundle.Approval{PlanDigest: p.Digest, By: a.Spec.Author}
	if a.Spec.ExpirationTime != nil {
		approval.Expires = a.Spec.ExpirationTime.Time
	}
	one := v1alpha1.ApprovedPlan{Deployment: deployment, PlanDigest: p.Digest}
	switch {
	case !a.DeletionTimestamp.IsZero():
		return approval, false, nil
	case len(a.Spec.Plans) == 0 && (a.Spec.Deployment != deployment || a.Spec.PlanDigest != p.Digest):
		return approval, false, nil
	case len(a.Spec.Plans) > 0 && !slices.Contains(a.Spec.Plans, one):
		return approval, false, nil
	case len(a.Spec.Plans) > 0 && a.Spec.PlanDigest != bundle.DigestOfPlans(ToPlans(a.Spec.Plans)):
		return approval, true, errors.New("planDigest is not that of its plans: create it with orcon fleet approve")
	}
	confirmed, err := p.Confirm(slices.Clone(a.Spec.ConfirmedObjects)...)
	approval.Confirmed = confirmed.Confirmed
	return approval, true, err
}

// ToPlans returns the digests of plans by deployment.
func ToPlans(plans []v1alpha1.ApprovedPlan) map[string]string {
	all := map[string]string{}
	for _, p := range plans {
		all[p.Deployment] = p.PlanDigest
	}
	return all
}

// Waiting returns the digest of the plan of a deployment that waits for approval; "" for none. One that deletes what must be
// confirmed by name is not among them.
func Waiting(d *v1alpha1.BundleDeployment) string {
	p := d.Status.Plan
	if p == nil || p.Revision == "" || len(p.HeldObjects) > 0 || d.Status.ObservedGeneration != d.Generation ||
		!meta.IsStatusConditionFalse(d.Status.Conditions, string(bundle.Approved)) {
		return ""
	}
	return p.Digest
}
