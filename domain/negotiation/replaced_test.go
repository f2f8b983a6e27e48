package negotiation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/negotiation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// earlier is an Offer to an earlier namespace of that name.
func earlier(o relation.Offer) relation.Offer {
	o.Consumers = []relation.Namespace{{Name: namespace, UID: "uid-of-an-earlier-one"}}
	return o
}

// A namespace that is made again under an offered name is related by nothing that declares it, and is told the cure;
// nor is one that the Offer has not recorded yet (TRUST.md T8).
func TestANamespaceMadeAgainIsNotOffered(t *testing.T) {
	unrecorded := offer("main", namespace)
	unrecorded.Consumers = named(namespace)
	tests := map[string]struct {
		offers []relation.Offer
		reason string
		says   string
	}{
		"MadeAgain": {
			[]relation.Offer{earlier(offer("main", namespace))}, relation.ReasonNamespaceReplaced,
			"namespace bank offers vault to an earlier namespace shop, which was deleted: if the Offer is to be for this one too, " +
				"renew it there: orcon offer renew -n bank",
		},
		"Unrecorded":    {[]relation.Offer{unrecorded}, relation.ReasonNoOffer, "namespace bank offers no application vault to this namespace"},
		"AnotherCovers": {[]relation.Offer{earlier(offer("main", namespace)), offer("main", "lab", namespace)}, "", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.consumes("web", "store:pg", "vault.bank")
			w.abroad = offering(test.offers...)
			w.settle(t)
			waiting := w.records["web"].State.Waiting
			if test.reason == "" {
				assert.True(t, w.only(t).Open())
				return
			}
			assert.Empty(t, w.relations)
			require.Len(t, waiting, 1)
			assert.Equal(t, test.reason, waiting[0].Reason)
			assert.Contains(t, w.told("web"), test.says)

			w.relate(relation.Pair{Key: inVault(), Interface: "pg"}, w.uid(), false, 0)
			w.settle(t)
			assert.Equal(t, test.reason, ready(w.only(t)).Reason, "made by hand")
			assert.Zero(t, w.only(t).State.ID)
		})
	}
}

// A relation that a namespace brings along, by a restore, is suspended until the Offer is renewed, and then the same.
func TestARestoredNamespaceWaitsForRenewal(t *testing.T) {
	w, was := borrower(t)
	w.abroad[0].Offers = []relation.Offer{earlier(offer("main", namespace))}
	w.settle(t)
	r := w.only(t)
	assert.False(t, r.Open())
	assert.True(t, r.Alive(), "SAFETY.md E14: that ends nothing")
	assert.Equal(t, relation.ReasonNamespaceReplaced, ready(r).Reason)
	assert.Contains(t, ready(r).Message, "orcon offer renew -n bank")
	w.abroad[0].Offers = []relation.Offer{offer("main", namespace)}
	w.settle(t)
	assert.Equal(t, was, w.only(t))
}

// An Offer goes on with what it has opened before it recorded the namespace.
func TestAnOlderOfferGoesOn(t *testing.T) {
	w, was := borrower(t)
	w.abroad[0].Offers[0].Consumers = named(namespace)
	w.settle(t)
	assert.Equal(t, was, w.only(t))
}

// A provider's namespace that is made again inherits nothing of a relation with the earlier one, unless it was
// restored with its side of it; the relation can be ended, and is made anew then (TRUST.md T8).
func TestAProviderMadeAgain(t *testing.T) {
	w, was := borrower(t)
	assert.Equal(t, uidOf("bank"), was.State.ProviderUID)
	w.abroad[0].UID = "uid-of-another"
	w.settle(t)
	assert.True(t, w.only(t).Open(), "restored")
	assert.Equal(t, "uid-of-another", w.only(t).State.ProviderUID)

	w.abroad[0].UID, w.abroad[0].Sides = "uid-of-a-third", nil
	w.settle(t)
	r := w.only(t)
	assert.False(t, r.Open())
	assert.True(t, r.Alive())
	assert.Equal(t, relation.Suspended, r.State.Status, "the units of the new one have nothing to handle")
	assert.Equal(t, relation.ReasonNamespaceReplaced, ready(r).Reason)
	assert.Equal(t, "namespace bank was deleted and made again, and this relation is with the earlier one: to relate to the new one, "+
		"delete this one: kubectl -n shop delete relation "+r.Name, ready(r).Message)

	w.remove(r.Name, r.UID)
	w.settle(t)
	w.later(t, 10*time.Second) // agents have heard of it, and the new namespace has nothing to take note of
	made := w.only(t)
	assert.NotEqual(t, was.UID, made.UID)
	assert.True(t, made.Open())
	assert.Equal(t, "uid-of-a-third", made.State.ProviderUID)
}

// To a namespace that is made again, relations with the earlier one do not exist: it keeps no side of them.
func TestAProviderMadeAgainKeepsNoSide(t *testing.T) {
	w := lender(t)
	r := borrows("office", w.now)
	r.State.ProviderUID = "uid-of-an-earlier-one"
	w.consumers = []relation.Relation{r}
	w.settle(t)
	assert.Empty(t, w.sides)
	assert.False(t, w.says("db", condition.Suspended).True)
	r.State.ProviderUID = w.namespaceUID
	w.consumers = []relation.Relation{r}
	w.settle(t)
	assert.Len(t, w.sides, 1)
}

// An Offer records each consumer when it is first seen, and says which were made again, as its application does.
func TestAnOfferRecordsItsConsumers(t *testing.T) {
	w := newWorld()
	w.external("db", "main:pg")
	w.elsewhere = map[string]string{"lab": "uid-1"}
	w.offers["all"] = relation.Offer{Namespace: namespace, Name: "all", Application: "db", Endpoint: "main", Consumers: named("office", "lab")}
	w.settle(t)
	first := []relation.Namespace{{Name: "office", UID: uidOf("office")}, {Name: "lab", UID: "uid-1"}}
	assert.Equal(t, first, w.offers["all"].Consumers)
	assert.Empty(t, w.offers["all"].State.Replaced)

	w.elsewhere["lab"] = "uid-2"
	w.consumers = []relation.Relation{borrows("lab", w.now)}
	w.settle(t)
	is := w.offers["all"]
	assert.Equal(t, first, is.Consumers, "a person decides")
	assert.Equal(t, []relation.Namespace{{Name: "lab", UID: "uid-2"}}, is.State.Replaced)
	says := "Offer all is to earlier namespaces of these names, which were deleted: lab: if it is to be for the new ones too: " +
		"orcon offer renew all -n shop"
	c, _ := condition.Find(is.State.Conditions, condition.Suspended)
	assert.Equal(t, condition.Condition{Type: condition.Suspended, True: true, Reason: relation.ReasonNamespaceReplaced, Message: says}, c)
	assert.True(t, condition.Why(is.State.Conditions).True, "it is in force for others")
	assert.Equal(t, says, w.says("db", condition.Suspended).Message, "once, whatever is suspended by it")

	w.consumers = append(w.consumers, borrows("office", w.now))
	w.settle(t)
	assert.Equal(t, relation.ReasonNoOffer, w.says("db", condition.Suspended).Reason)
	assert.Contains(t, w.says("db", condition.Suspended).Message, says+"; no Offer covers these relations any more: main with web.office:store")

	is.Consumers = []relation.Namespace{{Name: "lab", UID: "uid-2"}}
	w.offers["all"] = is
	w.settle(t)
	assert.Empty(t, w.offers["all"].State.Replaced, "renewed")
}

// What is recorded is what was there: a namespace that does not exist is recorded when it comes.
func TestAnOfferWaitsForItsConsumers(t *testing.T) {
	s := lender(t).observe()
	s.Offers[0].Consumers = named("office", "lab")
	s.Namespaces = map[string]string{"lab": "uid-1"}
	decisions, _ := negotiation.Negotiate(s)
	require.Len(t, decisions, 1)
	assert.Equal(t, []relation.Namespace{{Name: "office"}, {Name: "lab", UID: "uid-1"}}, decisions[0].(relation.Admit).Consumers)
	s.Namespaces = nil
	decisions, _ = negotiation.Negotiate(s)
	assert.Empty(t, decisions)
}
