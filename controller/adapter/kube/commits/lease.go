package commits

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/leadership"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/transaction"
)

// elections decides who leads.
type elections struct {
	reader client.Reader
	writer client.Client
	now    func() time.Time
	leases *object.Leases
}

// lead claims or renews the leadership of a pod, or resigns it, and returns the leader.
func (e elections) lead(ctx context.Context, of client.ObjectKey, unit int, podUID string, resign bool) (leadership.Leader, error) {
	var leader leadership.Leader
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		app := object.Named(&v1alpha1.RelatedApplication{}, of.Namespace, of.Name)
		lease, err := e.leases.Read(ctx, e.reader, app, e.now)
		if err != nil {
			return err
		}
		var changed bool
		now := e.now()
		if leader, changed = lease.After(int(app.State.LastTerm)).Claim(unit, podUID, now); resign {
			leader, changed = lease.Resign(podUID, now)
		}
		if !changed {
			return nil
		}
		return e.write(ctx, app, leader, now)
	})
	if err != nil {
		return leader, fmt.Errorf("cannot lead application %s: %w", of.Name, err)
	}
	return leader, nil
}

// write stores the leader of an application that was read; now is when its lease begins.
func (e elections) write(ctx context.Context, app *v1alpha1.RelatedApplication, leader leadership.Leader, now time.Time) error {
	if term := int64(leader.Term); term > app.State.LastTerm { // a term is taken before it is led in
		app.State.LastTerm = term
		if err := e.writer.Update(ctx, app); err != nil {
			return err
		}
		app.Status.ObservedGeneration = app.Generation
	}
	convert.SetLeader(app, leader)
	if err := e.writer.Status().Update(ctx, app); err != nil {
		return err
	}
	e.leases.Wrote(app, now, e.now())
	return nil
}

// leadsNow reports whether a pod leads its application in its term, for long enough (SAFETY.md P1), and returns the
// application. In doubt the lease is renewed first.
func (e elections) leadsNow(ctx context.Context, by status.Reporter) (leads bool, app *v1alpha1.RelatedApplication, err error) {
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		app = object.Named(&v1alpha1.RelatedApplication{}, by.Namespace, by.Application)
		lease, err := e.leases.Read(ctx, e.reader, app, e.now)
		if err != nil {
			leads = false
			return client.IgnoreNotFound(err)
		}
		var doubt bool
		now := e.now()
		if leads, doubt = lease.MayWrite(by.PodUID, by.Term, now); !doubt {
			return nil
		}
		leader, _ := lease.Claim(convert.ToLeader(app).Unit, by.PodUID, now)
		leads = true
		return e.write(ctx, app, leader, now)
	})
	if err != nil {
		return false, app, fmt.Errorf("cannot tell whether the unit leads application %s: %w", by.Application, err)
	}
	return leads, app, nil
}

// outranked returns an error that has deposed a leader for what was written in a later term. If the pod leads all the same,
// its application's record was lost, and with it the terms since: its next renewal gives it one above them (TRUST.md T5).
func (e elections) outranked(ctx context.Context, by status.Reporter, term int, err error) error {
	if !errors.Is(err, transaction.ErrDeposed) || term <= by.Term {
		return err
	}
	raised := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		app := object.Named(&v1alpha1.RelatedApplication{}, by.Namespace, by.Application)
		if err := e.reader.Get(ctx, client.ObjectKeyFromObject(app), app); err != nil {
			return err
		}
		if app.State.LastTerm > int64(term) {
			return nil
		}
		app.State.LastTerm = int64(term) + 1
		return e.writer.Update(ctx, app)
	})
	if raised != nil {
		return fmt.Errorf("cannot count term %d of application %s: %w", term, by.Application, raised)
	}
	return err
}
