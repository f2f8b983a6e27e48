package settle

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// An id is decided from the count that was observed. If another leader has given it meanwhile, or an agent has received a
// higher one, no relation gets it, and the count does not fall, although the cache shows the new count by then (SAFETY.md
// D10, TRUST.md T3).
func TestIDIsGivenByTheObservedCount(t *testing.T) {
	for name, other := range map[string]int64{"AnotherLeader": 7, "AnAgent": 50} {
		t.Run(name, func(t *testing.T) {
			server, caughtUp := kubetest.Shop(), "5"
			counts := func(last int64, revision string) {
				record := object.Named(&v1alpha1.RelatedNamespace{}, "shop", v1alpha1.NamespaceRecord)
				record.State.LastRelation, record.ResourceVersion = last, revision
				server.Kept.Put(record)
			}
			s := &Settler{Reader: server, Live: server, Writer: server, Events: events.NewFakeRecorder(10), Now: kubetest.Epoch}
			s.latest.follow(&v1alpha1.RelatedNamespace{}, &toolscache.FakeCustomStore{LastStoreSyncResourceVersionFunc: func() string { return caughtUp }})
			counts(6, caughtUp)
			s.latest.begin("shop")
			caughtUp = "9"
			counts(other, caughtUp)

			blog := relation.End{Namespace: "shop", Application: "blog", Endpoint: "store"}
			db := relation.End{Namespace: "shop", Application: "db", Endpoint: "main"}
			d := relation.Relate{Identity: "one", State: relation.State{ID: 7}}
			d.Key, d.Interface = relation.Key{Requirer: blog, Provider: db}, "pg"
			err := s.Apply(t.Context(), "shop", relation.Count{LastRelation: 7})
			assert.True(t, apierrors.IsConflict(err), "%v", err)
			err = s.Apply(t.Context(), "shop", d)
			assert.True(t, apierrors.IsConflict(err), "%v", err)

			record := object.Named(&v1alpha1.RelatedNamespace{}, "shop", v1alpha1.NamespaceRecord)
			require.NoError(t, server.Get(t.Context(), client.ObjectKeyFromObject(record), record))
			assert.Equal(t, other, record.State.LastRelation)
			made := object.Named(&v1alpha1.Relation{}, "shop", d.Name())
			assert.True(t, apierrors.IsNotFound(server.Get(t.Context(), client.ObjectKeyFromObject(made), made)))
		})
	}
}

// Units are numbered from the record that was observed. What another leader has recorded meanwhile is not replaced, or it
// would give a number again, although the cache shows it by then (SAFETY.md D10, TRUST.md A2).
func TestRecordIsOfWhatWasObserved(t *testing.T) {
	server, caughtUp := kubetest.Shop(), "5"
	records := func(revision string, pods ...string) {
		record := object.Named(&v1alpha1.RelatedApplication{}, "shop", "blog")
		record.ResourceVersion, record.State.NextUnit = revision, int64(len(pods))
		for i, pod := range pods {
			record.State.Units = append(record.State.Units, v1alpha1.Unit{Number: int64(i), Pod: pod, PodUID: "uid of " + pod})
		}
		server.Kept.Put(record)
	}
	s := &Settler{Reader: server, Live: server, Writer: server, Events: events.NewFakeRecorder(10), Now: kubetest.Epoch}
	s.latest.follow(&v1alpha1.RelatedApplication{}, &toolscache.FakeCustomStore{LastStoreSyncResourceVersionFunc: func() string { return caughtUp }})
	records(caughtUp, "blog-0")
	s.latest.begin("shop")
	caughtUp = "9"
	records(caughtUp, "blog-0", "blog-1")

	d := relation.Remember{Record: relation.Record{Name: "blog"}}
	d.State.NextUnit, d.State.Units = 1, []application.Unit{{Pod: "blog-0", PodUID: "uid of blog-0"}}
	err := s.Apply(t.Context(), "shop", d)
	assert.True(t, apierrors.IsConflict(err), "%v", err)
	record := object.Named(&v1alpha1.RelatedApplication{}, "shop", "blog")
	require.NoError(t, server.Get(t.Context(), client.ObjectKeyFromObject(record), record))
	assert.EqualValues(t, 2, record.State.NextUnit)
	assert.Len(t, record.State.Units, 2)

	s.latest.begin("shop")
	d.State.NextUnit = 3
	caughtUp = "12"
	records(caughtUp, "blog-0", "blog-1")
	require.NoError(t, s.Apply(t.Context(), "shop", d), "a report of an agent, which gives no number, holds up no new unit")
}

// The namespaces of an Offer are recorded as they were observed. A person who renews the Offer meanwhile is not overruled,
// although the cache shows that by then (TRUST.md T8).
func TestOfferIsAdmittedAsObserved(t *testing.T) {
	server, caughtUp := kubetest.Shop(), "5"
	offers := func(revision, uid string) {
		o := object.Named(&v1alpha1.Offer{}, "shop", "to-office")
		o.UID, o.ResourceVersion, o.Spec.Consumers = "offer", revision, []string{"office", "lab"}
		o.Spec.ConsumerNamespaces = []v1alpha1.NamespaceIdentity{{Name: "office", UID: uid}}
		server.Kept.Put(o)
	}
	s := &Settler{Reader: server, Live: server, Writer: server, Events: events.NewFakeRecorder(10), Now: kubetest.Epoch}
	s.latest.follow(&v1alpha1.Offer{}, &toolscache.FakeCustomStore{LastStoreSyncResourceVersionFunc: func() string { return caughtUp }})
	offers(caughtUp, "earlier")
	s.latest.begin("shop")
	caughtUp = "9"
	offers(caughtUp, "renewed")

	d := relation.Admit{Offer: relation.Offer{Namespace: "shop", Name: "to-office", UID: "offer"}}
	d.Consumers = []relation.Namespace{{Name: "office", UID: "earlier"}, {Name: "lab", UID: "lab"}}
	err := s.Apply(t.Context(), "shop", d)
	assert.True(t, apierrors.IsConflict(err), "%v", err)
	o := object.Named(&v1alpha1.Offer{}, "shop", "to-office")
	require.NoError(t, server.Get(t.Context(), client.ObjectKeyFromObject(o), o))
	assert.Equal(t, "renewed", o.Spec.ConsumerNamespaces[0].UID)
}

// An end that another leader holds meanwhile, since it saw more ends, does not reach handlers by what was decided before
// (TRUST.md T4).
func TestEndStaysHeldByAnotherLeader(t *testing.T) {
	server, caughtUp := kubetest.Shop(), "5"
	side := relation.Side{Role: application.Provider, Relation: "one", ID: 7, Interface: "pg", Known: true}
	side.Requirer = relation.End{Namespace: "shop", Application: "blog", Endpoint: "store"}
	side.Provider = relation.End{Namespace: "shop", Application: "db", Endpoint: "main"}
	sides := func(revision string, of relation.Side) {
		stored := convert.ForRelationSide(of)
		stored.ResourceVersion = revision
		server.Kept.Put(stored)
	}
	s := &Settler{Reader: server, Live: server, Writer: server, Events: events.NewFakeRecorder(10), Now: kubetest.Epoch}
	s.latest.follow(&v1alpha1.RelationSide{}, &toolscache.FakeCustomStore{LastStoreSyncResourceVersionFunc: func() string { return caughtUp }})
	sides(caughtUp, side)
	s.latest.begin("shop")
	held, told := side, side
	held.Teardown = &relation.Teardown{Since: kubetest.Epoch(), Reason: relation.EndDeleted, Held: true}
	told.Teardown = &relation.Teardown{Since: kubetest.Epoch(), Reason: relation.EndDeleted}
	caughtUp = "9"
	sides(caughtUp, held)

	err := s.Apply(t.Context(), "shop", relation.Keep{Side: told})
	assert.True(t, apierrors.IsConflict(err), "%v", err)
	stored := object.Named(&v1alpha1.RelationSide{}, "shop", side.Name())
	require.NoError(t, server.Get(t.Context(), client.ObjectKeyFromObject(stored), stored))
	assert.Equal(t, v1alpha1.EndHeld, stored.State.End.State)
}
