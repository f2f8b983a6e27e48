package aggregation

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/people"
)

// Rights has the API server decide what persons may do, as it does for its own objects. It decides too before it passes a
// request on; here a mistake in how requests are passed on opens nothing.
type Rights struct{ Client client.Client }

// Permit implements people.Rights.
func (r Rights) Permit(ctx context.Context, p people.Person, a people.Access) error {
	extra := map[string]authorizationv1.ExtraValue{}
	for key, values := range p.Extra {
		extra[key] = values
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: p.Name, UID: p.UID, Groups: p.Groups, Extra: extra,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: a.Namespace, Name: a.Name, Verb: a.Verb, Group: wire.Group, Version: wire.Version, Resource: a.Resource,
			Subresource: a.Subresource,
		},
	}}
	if err := r.Client.Create(ctx, review); err != nil {
		return fmt.Errorf("cannot find out what %s may do: %w", p.Name, err)
	}
	if !review.Status.Allowed && a.Namespace == "" {
		return fmt.Errorf("%w: %s may not %s %s/%s of API group %s: an administrator may bind ClusterRole orcon-job-nodes",
			people.ErrForbidden, p.Name, a.Verb, a.Resource, a.Subresource, wire.Group)
	}
	if !review.Status.Allowed {
		return fmt.Errorf("%w: %s may not %s %s/%s of API group %s in namespace %s: an administrator may bind ClusterRole orcon-job-edit, or "+
			"orcon-job-view for logs", people.ErrForbidden, p.Name, a.Verb, a.Resource, a.Subresource, wire.Group, a.Namespace)
	}
	return nil
}
