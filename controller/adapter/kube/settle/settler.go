package settle

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
)

// Interfaces knows the interfaces of the cluster.
type Interfaces interface {
	// Catalog returns the interfaces that are in force now.
	Catalog(ctx context.Context) schema.Catalog
}

// Outboxes delivers transactions.
type Outboxes interface {
	// Deliver finishes a transaction that another process committed. Delivering it twice does no harm.
	Deliver(ctx context.Context, namespace, outbox string) error
}

// Settler observes and settles namespaces.
type Settler struct {
	// Reader reads from the informers. Where these may lack objects of a namespace it fails: what is missing has gone.
	Reader client.Reader
	// Live reads from the API server itself.
	Live client.Reader
	// Writer writes to the API server.
	Writer client.Client
	// Events records Events.
	Events events.EventRecorder
	// Now is the clock.
	Now func() time.Time
	// Interfaces are those that are known; nil for none.
	Interfaces Interfaces
	// Outboxes delivers what other processes have committed.
	Outboxes Outboxes
	// Account is the controller's ServiceAccount, as namespace:name.
	Account string
	// LookEvery is about how often granted Secrets are read; 30 s if unset.
	LookEvery time.Duration

	sights    sights
	latest    latest
	referrers referrers
}

// Follow makes the settler forget its writes as soon as the informers show them. It comes before the first Observe.
func (s *Settler) Follow(ctx context.Context, informers cache.Cache) error {
	for _, kind := range []client.Object{
		&v1alpha1.Relation{}, &v1alpha1.RelatedApplication{}, &v1alpha1.Databag{}, &v1alpha1.Offer{}, &v1alpha1.RelatedNamespace{},
		&v1alpha1.RelationSide{},
	} {
		store, err := object.StoreOf(ctx, informers, kind)
		if err != nil {
			return err
		}
		s.latest.follow(kind, store)
	}
	for _, kind := range []client.Object{&corev1.Node{}, &networkingv1.NetworkPolicy{}} {
		if _, err := object.StoreOf(ctx, informers, kind); err != nil { // else the first Observe would wait for it
			return err
		}
	}
	return nil
}

// Observe returns the namespace as the informers and this process last saw it. A namespace that has not
// opted in has no applications: its relations are held.
func (s *Settler) Observe(ctx context.Context, namespace string) (relation.Snapshot, error) {
	snapshot := relation.Snapshot{Namespace: namespace, Now: s.Now().UTC().Truncate(time.Second), Account: s.Account, Seed: rand.Text()}
	s.latest.begin(namespace)
	o := observer{s.Reader, s.Live, &s.latest}
	if err := o.namespace(ctx, &snapshot); err != nil {
		return snapshot, err
	}
	if s.Interfaces != nil {
		snapshot.Interfaces = s.Interfaces.Catalog(ctx)
	}
	if !snapshot.OptedOut {
		in, err := inventory(ctx, s.Reader, namespace, s.Account)
		if err != nil {
			return snapshot, err
		}
		snapshot.Applications, snapshot.Orphans = application.Gather(in)
		snapshot.Strays, snapshot.Ended = relation.Strays(in, snapshot.Applications), relation.Ended(in.Pods)
	}
	s.referrers.observed(namespace, snapshot.Applications)
	secrets := granted{s.Live, &s.sights, cmp.Or(s.LookEvery, lookEvery), s.Now}
	owners, err := object.SecretOwners(ctx, s.Reader, namespace)
	snapshot.SecretOwners = owners
	return snapshot, errors.Join(err,
		o.counter(ctx, &snapshot), o.relations(ctx, &snapshot), o.sides(ctx, &snapshot), o.records(ctx, &snapshot), o.databags(ctx, &snapshot),
		o.offers(ctx, &snapshot), o.consumers(ctx, &snapshot), o.abroad(ctx, &snapshot),
		secrets.observe(ctx, &snapshot),
	)
}

// Apply carries out one decision. Applying it twice does no harm: what Orcon alone writes goes with the
// resourceVersion that was read, also to be deleted (SAFETY.md D11, TRUST.md A2).
func (s *Settler) Apply(ctx context.Context, namespace string, decision relation.Decision) error {
	w := writer{s.Reader, s.Live, s.Writer, &s.latest, eventWriter{s.Reader, s.Events}, s.Now}
	switch d := decision.(type) {
	case relation.Count:
		return w.count(ctx, namespace, d)
	case relation.Publish:
		return w.publish(ctx, namespace, d)
	case relation.Remember:
		return w.remember(ctx, namespace, d)
	case relation.Keep:
		return w.keep(ctx, d)
	case relation.Drop:
		return w.drop(ctx, namespace, d)
	case relation.Relate:
		return w.relate(ctx, namespace, d)
	case relation.Update:
		return w.update(ctx, namespace, d)
	case relation.Finish:
		return remove(ctx, w, object.Named(&v1alpha1.Relation{}, namespace, d.Name), d.Object)
	case relation.Release:
		return w.release(ctx, namespace, d)
	case relation.Deliver:
		return s.Outboxes.Deliver(ctx, namespace, d.Name())
	case relation.Discard:
		return remove(ctx, w, object.Named(&v1alpha1.Databag{}, namespace, d.Name()), d.UID)
	case relation.Admit:
		return offerWriter{w}.admit(ctx, namespace, d)
	case relation.Answer:
		return offerWriter{w}.answer(ctx, namespace, d)
	case relation.Withdraw:
		return w.withdraw(ctx, namespace, d.Databag)
	case relation.Mark:
		return w.mark(ctx, namespace, d)
	case relation.Forget:
		return remove(ctx, w, object.Named(&v1alpha1.RelatedApplication{}, namespace, d.Name), d.UID)
	default:
		return fmt.Errorf("cannot apply %T: it is not known here", decision)
	}
}
