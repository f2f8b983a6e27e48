package kube

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// optedIn is a namespace that takes part.
func optedIn(name string) *corev1.Namespace {
	ns := object.Named(&corev1.Namespace{}, "", name)
	ns.Labels = map[string]string{application.LabelOptIn: application.OptedIn}
	return ns
}

// offerOf is an Offer of endpoint db of db in the shop to namespaces.
func offerOf(consumers ...string) *v1alpha1.Offer {
	o := object.Named(&v1alpha1.Offer{}, "shop", "an-offer")
	o.UID, o.ResourceVersion = "uid-an-offer", "5"
	o.Spec = v1alpha1.OfferSpec{Application: "db", Endpoint: "db", Consumers: consumers}
	return o
}

// borrowed is a relation of the office's blog to db in the shop, opened by its Offer.
func borrowed() *v1alpha1.Relation {
	r := relationBetween("office", "blog", "shop", "db")
	r.UID = "abroad"
	convert.SetRelation(r, relation.State{ID: 7, Offer: "an-offer", Conditions: condition.Settled("Complete", "all is there")}, kubetest.Epoch())
	return r
}

// A pass reads of other namespaces what Offers name its own for, and what its
// relations were ever opened to; nothing else (SAFETY.md M7).
func TestObserveReadsAbroadWhatIsOffered(t *testing.T) {
	app := func(name string) *v1alpha1.RelatedApplication {
		return object.Named(&v1alpha1.RelatedApplication{}, "shop", name)
	}
	said := endpointBag("shop", "db", map[string]string{"host": "here"})
	hidden := relationBetween("office", "blog", "shop", "hidden")
	everything := []client.Object{optedIn("office"), optedIn("shop"), app("db"), app("hidden"), said, endpointBag("shop", "hidden", map[string]string{"host": "there"}), hidden}
	observe := func(more ...client.Object) relation.Snapshot {
		m := kubetest.Memory{}
		m.Put(append(everything, more...)...)
		s, err := (&World{Reader: m, Now: kubetest.Epoch}).Observe(t.Context(), "office")
		require.NoError(t, err)
		return s
	}
	assert.Empty(t, observe().Abroad, "a Relation made by hand opens no door")
	assert.Empty(t, observe(offerOf("lab")).Abroad)

	offered := observe(offerOf("lab", "office")).Abroad
	require.Len(t, offered, 1)
	assert.True(t, offered[0].OptedIn)
	require.Len(t, offered[0].Records, 1)
	assert.Equal(t, "db", offered[0].Records[0].Name)
	require.Len(t, offered[0].Databags, 1)
	assert.Equal(t, map[string]string{"host": "here"}, offered[0].Databags[0].Data)

	withdrawn := observe(borrowed()).Abroad
	require.Len(t, withdrawn, 1, "who was open to each other hears of the end")
	assert.Empty(t, withdrawn[0].Offers)
	assert.Equal(t, "db", withdrawn[0].Records[0].Name)
}

// A provider's pass sees its Offers and the relations of other namespaces to it.
func TestObserveConsumers(t *testing.T) {
	m := kubetest.Memory{}
	m.Put(optedIn("shop"), offerOf("office"), borrowed(), relationBetween("shop", "blog", "shop", "db"))
	s, err := (&World{Reader: m, Now: kubetest.Epoch}).Observe(t.Context(), "shop")
	require.NoError(t, err)
	require.Len(t, s.Consumers, 1)
	assert.Equal(t, "office", s.Consumers[0].Requirer.Namespace)
	require.Len(t, s.Offers, 1)
	assert.Equal(t, []string{"office"}, s.Offers[0].Consumers)
	assert.Empty(t, s.Abroad)
}

// What is said for a relation of another namespace is owned by nobody, says where
// that relation is, and goes when the API server says that it has gone (SAFETY.md M7).
func TestBagsOfRelationsElsewhere(t *testing.T) {
	server, commits := shop()
	r := borrowed()
	server.Kept.Put(r)
	change := saying("abroad", false, "user", "a")
	change.Relation, change.Namespace = r.Name, "office"
	_, err := commits.Commit(t.Context(), answer(change, saying("abroad", true, "x", "y")), nil)
	require.NoError(t, err)
	bag := relation.Databag{Application: "db", Endpoint: "main", Relation: "abroad", Home: relation.Home{Namespace: "office", Name: r.Name}}
	var stored v1alpha1.Databag
	key := client.ObjectKey{Namespace: "shop", Name: bag.Name()}
	require.NoError(t, server.Get(t.Context(), key, &stored))
	assert.Empty(t, stored.OwnerReferences)
	known, err := convert.ToDatabag(&stored)
	require.NoError(t, err)
	assert.Equal(t, bag.Home, known.Home)

	w := &World{Reader: server, Live: server, Writer: server, Now: kubetest.Epoch}
	require.NoError(t, w.Apply(t.Context(), "shop", relation.Withdraw{Databag: known}))
	require.NoError(t, server.Get(t.Context(), key, &stored), "the relation is only not seen here yet")
	r.UID = "another"
	server.Kept.Put(r)
	require.NoError(t, w.Apply(t.Context(), "shop", relation.Withdraw{Databag: known}))
	require.Error(t, server.Get(t.Context(), key, &stored))
}

// A secret that is granted for a relation across namespaces is read as long as an
// Offer covers that, and not by who only says so (RELATIONS.md P5, SAFETY.md M7).
func TestSecretsAcrossNamespaces(t *testing.T) {
	server, commits := vault()
	r := borrowed()
	server.Kept.Put(r, offerOf("office"))
	grant := secret.Draft{Write: secret.Write{Kind: secret.Grant, ID: secretID, Access: secret.Access{
		Relation: "abroad", Name: r.Name, Namespace: "office", Application: "blog.office",
	}}}
	_, err := commits.Commit(t.Context(), answer(), drafts(adds(secretID, "hunter2"), grant))
	require.NoError(t, err)
	reads := func() conversation.Refusal {
		reading, err := commits.Secret(t.Context(), []secret.Visitor{
			{Unit: secret.Unit{Application: "blog", Number: "0"}, Namespace: "office"},
			{Unit: secret.Unit{Application: "blog.office", Number: "0"}, Namespace: "shop", Related: []string{"db"}},
		}, secretID, secret.Query{Label: "admin"})
		if err == nil {
			assert.Equal(t, "hunter2", string(reading.Content["password"]))
		}
		return conversation.RefusalOf(err)
	}
	assert.Empty(t, reads())
	assert.Empty(t, reads(), "found by its label")
	server.Kept.Put(offerOf("lab"))
	assert.Equal(t, conversation.NotYet, reads(), "withdrawn, whatever the Relation still says")
	server.Kept.Put(offerOf("office"))
	assert.Empty(t, reads(), "given back, with what was granted")
	_, err = commits.Secret(t.Context(), asks("0", "db"), secretID, secret.Query{})
	assert.Equal(t, conversation.NotYet, conversation.RefusalOf(err), "the shop's own blog is another, and was granted nothing")

	v := &Vault{Commits: *commits, Cached: server}
	app := object.Named(&v1alpha1.RelatedApplication{}, "office", "blog")
	app.Status.NextUnit, app.Status.Units = 1, []v1alpha1.Unit{{Number: 0, PodUID: "b0"}}
	server.Kept.Put(app)
	sweep := func() []secret.Decision {
		snapshot, err := v.Observe(t.Context(), "shop")
		require.NoError(t, err)
		return secret.Sweep(snapshot)
	}
	assert.Empty(t, sweep(), "neither the grant nor its reader has gone")
	app.Status.Units[0].DepartureReason = "replaced"
	server.Kept.Put(app)
	r.UID = "another"
	server.Kept.Put(r)
	assert.Equal(t, []secret.Decision{secret.LetGo{ID: secretID, Relations: []string{"abroad"}, Readers: []secret.Reader{
		{Application: "blog.office", Unit: "0", Revision: 1, Label: "admin"},
	}}}, sweep())
	assert.Equal(t, conversation.Gone, reads())
}

// What is said of an Offer is written once, and told (SAFETY.md C1).
func TestAnswerOffers(t *testing.T) {
	server, _ := shop()
	server.Kept.Put(offerOf("office"))
	told := events.NewFakeRecorder(10)
	w := &World{Reader: server, Live: server, Writer: server, Events: told, Now: kubetest.Epoch}
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
