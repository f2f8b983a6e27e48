// Package relation is the loop that keeps relations: it observes a namespace,
// lets the domain negotiate, and applies what was decided.
//
// What must not come in: a decision, or a Kubernetes type other than a request.
package relation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/golang/glog"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/negotiation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// World is the part of the cluster this controller needs, and all of it.
type World interface {
	// Observe returns the namespace as last seen, this process's own writes
	// included.
	Observe(ctx context.Context, namespace string) (relation.Snapshot, error)
	// Apply carries out one decision. Applying it twice does no harm.
	Apply(ctx context.Context, namespace string, d relation.Decision) error
	// Referrers returns the namespaces whose applications refer to one of another namespace.
	Referrers(namespace, application string) []string
}

// incomplete is the pause before a namespace is observed again that the caches do not have whole.
const incomplete = 200 * time.Millisecond

// Reconciler settles one namespace at a time; the request's name is the
// namespace's.
type Reconciler struct {
	World World
}

// Reconcile observes, lets the domain decide, and applies. One decision that
// fails does not hold back the rest; the workqueue retries what failed.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	snapshot, err := r.World.Observe(ctx, req.Name)
	if errors.Is(err, object.ErrIncomplete) {
		glog.V(1).Infof("namespace %s: %v", req.Name, err)
		return reconcile.Result{RequeueAfter: incomplete}, nil
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("cannot observe namespace %s: %w", req.Name, err)
	}
	decisions, wake := negotiation.Negotiate(snapshot)
	var failed []error
	for _, d := range decisions {
		if err := r.World.Apply(ctx, req.Name, d); err != nil {
			failed = append(failed, fmt.Errorf("cannot apply %T in namespace %s: %w", d, req.Name, err))
			continue
		}
		glog.V(1).Infof("namespace %s: %s", req.Name, describe(d))
	}
	if len(failed) > 0 {
		return reconcile.Result{}, errors.Join(failed...)
	}
	return reconcile.Result{RequeueAfter: until(wake, snapshot.Now)}, nil
}

// until is how long to sleep; 0 for until something changes.
func until(wake, now time.Time) time.Duration {
	if wake.IsZero() {
		return 0
	}
	return max(wake.Sub(now), time.Second)
}

// describe names a decision for the log: never a value of a databag.
func describe(decision relation.Decision) string {
	switch d := decision.(type) {
	case relation.Count:
		return fmt.Sprintf("count relation %d", d.LastRelation)
	case relation.Copy:
		return fmt.Sprintf("copy the data of application %s: %d relation(s)", d.Application, len(d.Next.Items))
	case relation.Publish:
		return fmt.Sprintf("publish the databag of %s:%s", d.Application, d.Endpoint)
	case relation.Remember:
		return "record application " + d.Name
	case relation.Keep:
		return fmt.Sprintf("keep the side of %s of relation %d", d.Here(), d.ID)
	case relation.Drop:
		return fmt.Sprintf("drop the side of %s of relation %d", d.Here(), d.ID)
	case relation.Relate:
		return fmt.Sprintf("relate %s and %s, id %d", d.Requirer, d.Provider, d.State.ID)
	case relation.Update:
		return fmt.Sprintf("record relation %d", d.State.ID)
	case relation.Finish:
		return fmt.Sprintf("delete Relation %s, id %d: %s", d.Name, d.State.ID, cmp.Or(d.State.EndReason, "another one goes on with it"))
	case relation.Release:
		return fmt.Sprintf("release relation %d", d.State.ID)
	case relation.Deliver:
		return fmt.Sprintf("deliver what %s/%s has committed", d.Application, d.Unit)
	case relation.Discard:
		return fmt.Sprintf("delete the outbox of %s/%s, which has gone", d.Application, d.Unit)
	case relation.Withdraw:
		return fmt.Sprintf("withdraw the databag of %s:%s", d.Application, d.Endpoint)
	case relation.Admit:
		return "record the consumers of offer " + d.Name
	case relation.Answer:
		return fmt.Sprintf("answer offer %s, which %d relation(s) use", d.Name, d.State.Relations)
	case relation.Forget:
		return "forget application " + d.Name
	case relation.Mark:
		return fmt.Sprintf("mark %s %s as unreadable: %s", d.Kind, d.Name, d.Problem)
	default:
		return fmt.Sprintf("%T", decision)
	}
}
