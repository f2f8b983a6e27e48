package identity

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/identity"
)

// Membership returns what the caches know of the pod with that UID and service account (SAFETY.md S4). Its
// application is uncertain while the caches do not show the pod's owner, or show that another workload has the
// name and not why this one is ignored.
func (r Reviewer) Membership(ctx context.Context, id domain.Identity) domain.Membership {
	var p corev1.Pod
	if err := r.Reader.Get(ctx, client.ObjectKey{Namespace: id.Namespace, Name: id.Pod}, &p, client.UnsafeDisableDeepCopy); err != nil {
		return domain.Membership{}
	}
	if string(p.UID) != id.UID || p.Spec.ServiceAccountName != id.Account || object.Finished(&p) {
		return domain.Membership{}
	}
	owner, known := object.Owners{Reader: r.Reader}.Of(ctx, &p)
	if !known {
		return domain.Membership{Lives: true}
	}
	m := domain.Membership{Lives: true, Application: owner.Application}
	var app v1alpha1.RelatedApplication
	err := r.Reader.Get(ctx, client.ObjectKey{Namespace: id.Namespace, Name: owner.Application}, &app, client.UnsafeDisableDeepCopy)
	if err != nil || slices.Contains(app.Status.Sources, owner.Source()) {
		return m
	}
	i := slices.IndexFunc(app.Status.Exclusions, func(o v1alpha1.Exclusion) bool { return o.Object == owner.Source() })
	switch {
	case i >= 0:
		m.Ignored = app.Status.Exclusions[i].Message
	case len(app.Status.Sources) > 0:
		m.Application = ""
	}
	return m
}
