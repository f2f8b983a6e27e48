package commits

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// Pending delivers transactions with secrets before those are read: a view shows a reference from the commit point on.
type Pending struct {
	// Cached has the outboxes as views show them.
	Cached  client.Reader
	Commits *Commits
}

// Deliver delivers what applications of a namespace have committed about secrets. What the API server refuses stays.
func (p Pending) Deliver(ctx context.Context, namespace string, applications []string) error {
	var list v1alpha1.DatabagList
	if err := p.Cached.List(ctx, &list, object.At(object.ByPending, namespace, ""), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("cannot list transactions: %w", err)
	}
	var failed []error
	for i := range list.Items {
		b := &list.Items[i]
		if len(b.State.Transaction.SecretWrites) == 0 || !slices.Contains(applications, b.Spec.Application) {
			continue
		}
		if err := p.Commits.Deliver(ctx, namespace, b.Name); err != nil && conversation.RefusalOf(err) == "" {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// DeliverUnit delivers what a unit has committed, also if no cache shows it yet: it may have got no answer.
func (p Pending) DeliverUnit(ctx context.Context, namespace, application, unit string) error {
	return p.Commits.deliverOwn(ctx, namespace, application, unit)
}

// Leads reports whether a pod leads an application.
func (p Pending) Leads(ctx context.Context, namespace, application, podUID string) (bool, error) {
	app := object.Named(&v1alpha1.RelatedApplication{}, namespace, application)
	lease, err := p.Commits.Leases.Read(ctx, p.Commits.Reader, app, p.Commits.Now)
	if err != nil {
		return false, fmt.Errorf("cannot read application %s: %w", application, err)
	}
	return lease.Leads(podUID, p.Commits.Now()), nil
}
