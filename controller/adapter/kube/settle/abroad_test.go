package settle

import (
	"testing"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/commits"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// A pass reads from other namespaces what they offer to its own, and what its relations were ever opened to;
// nothing else (SAFETY.md M7).
func TestObserveReadsAbroadWhatIsOffered(t *testing.T) {
	app := func(name string) *v1alpha1.RelatedApplication {
		return object.Named(&v1alpha1.RelatedApplication{}, "shop", name)
	}
	said := kubetest.DeclaredBag("shop", "db", map[string]string{"host": "here"})
	hidden := kubetest.Related("office", "blog", "shop", "hidden")
	everything := []client.Object{kubetest.OptedIn("office"), kubetest.OptedIn("shop"), app("db"), app("hidden"), said, kubetest.DeclaredBag("shop", "hidden", map[string]string{"host": "there"}), hidden}
	observe := func(more ...client.Object) relation.Snapshot {
		m := kubetest.Memory{}
		m.Put(append(everything, more...)...)
		s, err := (&Settler{Reader: m, Now: kubetest.Epoch}).Observe(t.Context(), "office")
		require.NoError(t, err)
		return s
	}
	assert.Empty(t, observe().Abroad, "a Relation made by hand opens no door")
	assert.Empty(t, observe(kubetest.OfferTo("lab")).Abroad)

	offered := observe(kubetest.OfferTo("lab", "office")).Abroad
	require.Len(t, offered, 1)
	assert.True(t, offered[0].OptedIn)
	require.Len(t, offered[0].Records, 1)
	assert.Equal(t, "db", offered[0].Records[0].Name)
	require.Len(t, offered[0].Databags, 1)
	assert.Equal(t, map[string]string{"host": "here"}, offered[0].Databags[0].Data)

	withdrawn := observe(kubetest.Borrowed()).Abroad
	require.Len(t, withdrawn, 1, "who was open to each other hears of the end")
	assert.Empty(t, withdrawn[0].Offers)
	assert.Equal(t, "db", withdrawn[0].Records[0].Name)
}

// A provider's pass sees its Offers and the relations of other namespaces to it.
func TestObserveConsumers(t *testing.T) {
	m := kubetest.Memory{}
	m.Put(kubetest.OptedIn("shop"), kubetest.OfferTo("office"), kubetest.Borrowed(), kubetest.Related("shop", "blog", "shop", "db"))
	s, err := (&Settler{Reader: m, Now: kubetest.Epoch}).Observe(t.Context(), "shop")
	require.NoError(t, err)
	require.Len(t, s.Consumers, 1)
	assert.Equal(t, "office", s.Consumers[0].Requirer.Namespace)
	require.Len(t, s.Offers, 1)
	assert.Equal(t, []relation.Namespace{{Name: "office"}}, s.Offers[0].Consumers)
	assert.Equal(t, map[string]string{"office": ""}, s.Namespaces, "it does not exist")
	assert.EqualValues(t, kubetest.NamespaceUID("shop"), s.UID)
	assert.Empty(t, s.Abroad)
}

// A bag for a relation of another namespace names the relation, and goes with the side (SAFETY.md M7, TRUST.md T5).
func TestBagsOfRelationsElsewhere(t *testing.T) {
	server := kubetest.Shop()
	stores := &commits.Commits{Reader: server, Writer: server, Now: kubetest.Epoch}
	r := kubetest.Borrowed()
	server.Kept.Put(r)
	change := kubetest.Change("abroad", false, "user", "a")
	change.Relation, change.Namespace = r.Name, "office"
	_, err := stores.Commit(t.Context(), kubetest.Commit(change, kubetest.Change("abroad", true, "x", "y")), nil)
	require.NoError(t, err)
	bag := relation.Databag{Application: "db", Endpoint: "main", Relation: "abroad", Home: relation.Home{Namespace: "office", Name: r.Name}}
	var stored v1alpha1.Databag
	key := client.ObjectKey{Namespace: "shop", Name: bag.Name()}
	require.NoError(t, server.Get(t.Context(), key, &stored))
	assert.Empty(t, stored.OwnerReferences)
	known, err := convert.ToDatabag(&stored)
	require.NoError(t, err)
	assert.Equal(t, bag.Home, known.Home)

	w := &Settler{Reader: server, Live: server, Writer: server, Now: kubetest.Epoch}
	d, err := convert.ToRelation(r)
	require.NoError(t, err)
	side := relation.Side{Key: d.Key, Role: application.Provider, Relation: d.UID, ID: 1, Interface: "db"}
	counted := object.Named(&v1alpha1.RelatedNamespace{}, "shop", v1alpha1.NamespaceRecord)
	counted.State.LastRelation, counted.ResourceVersion = 1, "5"
	server.Kept.Put(counted)
	require.NoError(t, w.Apply(t.Context(), "shop", relation.Keep{Side: side}))
	require.NoError(t, w.Apply(t.Context(), "shop", relation.Drop{Side: side, Bags: []relation.Databag{known}}))
	require.Error(t, server.Get(t.Context(), key, &stored))
	require.Error(t, server.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: side.Name()}, &v1alpha1.RelationSide{}))
}

// The UIDs of an Offer's consumers are written into its spec, by the UID and revision that were seen (TRUST.md T8).
func TestAdmitConsumers(t *testing.T) {
	server := kubetest.Shop()
	server.Kept.Put(kubetest.OfferTo("office"))
	w := &Settler{Reader: server, Live: server, Writer: server, Now: kubetest.Epoch}
	admit := relation.Admit{Offer: relation.Offer{Name: "an-offer", UID: "uid-an-offer", Consumers: []relation.Namespace{{Name: "office", UID: "1"}}}}
	require.NoError(t, w.Apply(t.Context(), "shop", admit))
	var o v1alpha1.Offer
	require.NoError(t, server.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "an-offer"}, &o))
	assert.Equal(t, []v1alpha1.NamespaceIdentity{{Name: "office", UID: "1"}}, o.Spec.ConsumerNamespaces)
	writes := server.Writes
	admit.UID = "another"
	require.NoError(t, w.Apply(t.Context(), "shop", admit))
	assert.Equal(t, writes, server.Writes, "an Offer made anew is another")
}

// The status of an Offer is written once, with an Event (SAFETY.md C1).
func TestAnswerOffers(t *testing.T) {
	server := kubetest.Shop()
	server.Kept.Put(kubetest.OfferTo("office"))
	told := events.NewFakeRecorder(10)
	w := &Settler{Reader: server, Live: server, Writer: server, Events: told, Now: kubetest.Epoch}
	answer := relation.Answer{Offer: relation.Offer{Name: "an-offer", UID: "uid-an-offer"}}
	answer.State = relation.OfferState{Relations: 2, Conditions: condition.Settled(relation.ReasonOffered, "2 relation(s) use it")}
	require.NoError(t, w.Apply(t.Context(), "shop", answer))
	var o v1alpha1.Offer
	require.NoError(t, server.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "an-offer"}, &o))
	assert.EqualValues(t, 2, o.Status.Relations)
	assert.True(t, convert.ToOffer(&o).Seen)
	assert.Equal(t, answer.State, convert.ToOffer(&o).State)
	assert.Contains(t, <-told.Events, "2 relation(s) use it")
	writes := server.Writes
	answer.UID = "another"
	require.NoError(t, w.Apply(t.Context(), "shop", answer))
	assert.Equal(t, writes, server.Writes, "an Offer made anew is another")
}
