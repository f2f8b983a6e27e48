package bundle

import (
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// ToApproval returns the approval of a plan. The error names objects that are confirmed and not held.
func ToApproval(a *v1alpha1.Approval, p bundle.Plan) (bundle.Approval, error) {
	approval := bundle.Approval{PlanDigest: a.Spec.PlanDigest, By: a.Spec.Author}
	if a.Spec.ExpirationTime != nil {
		approval.Expires = a.Spec.ExpirationTime.Time
	}
	if a.Spec.PlanDigest != p.Digest {
		return approval, nil
	}
	confirmed, err := p.Confirm(slices.Clone(a.Spec.ConfirmedObjects)...)
	approval.Confirmed = confirmed.Confirmed
	return approval, err
}
