package identity

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/value"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/identity"
)

// Membership returns what the caches know of the pod with that UID, service account and node (SAFETY.md S4). Its
// application is uncertain while the caches do not show the pod's owner, or show that another workload has the
// name and not why this one is ignored.
func (r *Reviewer) Membership(ctx context.Context, id domain.Identity) domain.Membership {
	p := r.pod(ctx, id)
	if p == nil {
		return domain.Membership{}
	}
	owner, known := object.Owners{Reader: r.reader}.Of(ctx, p)
	m := domain.Membership{Lives: true, Deadline: value.Time(p.DeletionTimestamp)}
	if !known {
		return m
	}
	m.Application = owner.Application
	var app v1alpha1.RelatedApplication
	err := r.reader.Get(ctx, client.ObjectKey{Namespace: id.Namespace, Name: owner.Application}, &app, client.UnsafeDisableDeepCopy)
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

// lives reports whether the caches have the pod that the identity names.
func (r *Reviewer) lives(ctx context.Context, id domain.Identity) bool { return r.pod(ctx, id) != nil }

// pod returns the pod that the identity names, if the caches have it and it lives.
func (r *Reviewer) pod(ctx context.Context, id domain.Identity) *corev1.Pod {
	var p corev1.Pod
	if err := r.reader.Get(ctx, client.ObjectKey{Namespace: id.Namespace, Name: id.Pod}, &p, client.UnsafeDisableDeepCopy); err != nil {
		return nil
	}
	if !id.Names(domain.Pod{UID: string(p.UID), Account: p.Spec.ServiceAccountName, Node: p.Spec.NodeName, Finished: object.Finished(&p)}) {
		return nil
	}
	return &p
}
