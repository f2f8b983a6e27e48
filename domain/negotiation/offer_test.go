package negotiation_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/negotiation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// vault is what namespace bank holds: an application that provides main and spare,
// with one unit that handles.
func vault() relation.Abroad {
	endpoints := []application.Endpoint{
		{Name: "main", Role: application.Provider, Interface: "pg"}, {Name: "spare", Role: application.Provider, Interface: "pg"},
		{Name: "store", Role: application.Requirer, Interface: "pg"},
	}
	return relation.Abroad{
		Namespace: "bank", UID: uidOf("bank"), OptedIn: true,
		Records: []relation.Record{{Name: "vault", State: relation.ApplicationState{
			Endpoints: endpoints, Units: []application.Unit{{Number: 0, PodUID: "v0", Address: "10.0.0.1", Handles: true}}, NextUnit: 1,
		}}},
		Databags: []relation.Databag{{Application: "vault", Endpoint: "main", Data: map[string]string{"host": "vault.bank"}}},
	}
}

// offer is an Offer of the bank's.
func offer(endpoint string, consumers ...string) relation.Offer {
	return relation.Offer{Namespace: "bank", Name: "to-" + consumers[0] + "-" + endpoint, Application: "vault", Endpoint: endpoint, Consumers: known(consumers...)}
}

func offering(offers ...relation.Offer) []relation.Abroad {
	from := vault()
	from.Offers = offers
	return []relation.Abroad{from}
}

// inVault is a relation of web in the shop to the bank's vault.
func inVault() relation.Key {
	return relation.Key{
		Requirer: relation.End{Namespace: namespace, Application: "web", Endpoint: "store"},
		Provider: relation.End{Namespace: "bank", Application: "vault", Endpoint: "main"},
	}
}

// borrower is web, with a pod, which relates to the bank's vault as an Offer allows.
func borrower(t *testing.T) (*world, relation.Relation) {
	t.Helper()
	w := newWorld()
	w.consumes("web", "store:pg", "vault.bank", application.KeyRetain, "1h")
	w.pod(application.Deployment, "web", "web-1")
	w.abroad = offering(offer("main", namespace))
	w.settle(t)
	require.True(t, ready(w.only(t)).True)
	w.abroad[0].Sides = lent(w.only(t))
	return w, w.only(t)
}

// Across namespaces an Offer that names the endpoint and the consumer's namespace
// makes two endpoints relate, and nothing else does (RELATIONS.md M6, M2).
func TestOffers(t *testing.T) {
	tests := map[string]struct {
		why      string
		abroad   []relation.Abroad
		declares string
		want     string
		says     string
	}{
		"Offered":         {why: "M6: consent", abroad: offering(offer("main", namespace)), declares: "vault.bank", want: "web:store-vault:main"},
		"AmongOthers":     {why: "M6: one of several namespaces", abroad: offering(offer("main", "office", namespace)), declares: "vault.bank", want: "web:store-vault:main"},
		"Named":           {why: "M2: a named endpoint is no guess", abroad: offering(offer("main", namespace), offer("spare", namespace)), declares: "store=vault.bank:spare", want: "web:store-vault:spare"},
		"Twice":           {why: "M3: two Offers of one endpoint are one way", abroad: offering(offer("main", namespace), offer("main", namespace, "x")), declares: "vault.bank", want: "web:store-vault:main"},
		"Ambiguous":       {why: "M2: among what is offered, never a guess", abroad: offering(offer("main", namespace), offer("spare", namespace)), declares: "vault.bank", says: "write one of store=vault.bank:main, store=vault.bank:spare"},
		"ToOthers":        {why: "M7: an Offer to others is none", abroad: offering(offer("main", "office")), declares: "vault.bank", says: "namespace bank offers no application vault to this namespace"},
		"OtherEndpoint":   {why: "M7: what is not offered is not there", abroad: offering(offer("main", namespace)), declares: "vault.bank:spare", says: "vault has no endpoint spare: it provides main:pg"},
		"NotProvided":     {why: "M6: only what is provided can be offered", abroad: offering(offer("store", namespace)), declares: "vault.bank", says: "an Offer of namespace bank names vault, but vault provides nothing that is offered yet"},
		"NobodyThere":     {why: "M7: the same as to others", declares: "vault.bank", says: "namespace bank offers no application vault to this namespace"},
		"OptedOut":        {why: "M6: who takes no part offers nothing", abroad: []relation.Abroad{{Namespace: "bank", Offers: []relation.Offer{offer("main", namespace)}}}, declares: "vault.bank", says: "namespace bank offers no"},
		"ForeignOffer":    {why: "M6: a namespace offers its own alone", abroad: []relation.Abroad{{Namespace: "evil", OptedIn: true, Offers: []relation.Offer{offer("main", namespace)}}}, declares: "vault.bank", says: "namespace bank offers no"},
		"NothingDeclared": {why: "an Offer relates nobody", abroad: offering(offer("main", namespace)), says: "no provider is named for endpoint store"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.consumes("web", "store:pg", test.declares)
			w.abroad = test.abroad
			w.settle(t)
			assert.Equal(t, test.want, w.related(), test.why)
			if test.says != "" {
				assert.Contains(t, w.told("web"), test.says, test.why)
			}
			for _, r := range values(w.relations) {
				assert.True(t, r.Open(), test.why)
				assert.Equal(t, "bank", r.Provider.Namespace)
			}
		})
	}
}

// Without an Offer nothing that a namespace holds makes a difference: what is
// decided, when, and in which words is the same as if it were not there
// (SAFETY.md M7).
func TestWithoutAnOfferNothingShows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		w.consumes("web", "store:pg,other:pg?", rapid.SampledFrom([]string{"vault.bank", "store=vault.bank:main", "vault.bank:nothing", "nobody.bank", "nobody.nowhere"}).Draw(t, "names"))
		if rapid.Bool().Draw(t, "by hand") {
			w.relate(relation.Pair{Key: inVault(), Interface: "pg"}, w.uid(), false, 0)
		}
		history(t, w, 8)
		if rapid.Bool().Draw(t, "deleted") && len(w.relations) > 0 {
			r := values(w.relations)[0]
			w.remove(r.Name, r.UID)
		}
		s := w.observe()
		want, wake := negotiation.Negotiate(s)

		from := vault()
		from.OptedIn = rapid.Bool().Draw(t, "opted in")
		from.Offers = []relation.Offer{offer("main", "office"), offer("main", "shop-2", "sho", "")}
		if !from.OptedIn {
			from.Offers = append(from.Offers, offer("main", namespace))
		}
		for _, r := range values(w.relations) {
			from.Databags = append(from.Databags, relation.Databag{Application: "vault", Endpoint: "main", Relation: r.UID, Data: map[string]string{"key": "open"}})
		}
		s.Abroad = append(slices.Clone(s.Abroad), from)
		got, again := negotiation.Negotiate(s)
		assert.Equal(t, want, got)
		assert.Equal(t, wake, again)
	})
}

// A withdrawn Offer suspends, for however long, and ends nothing; given back, the
// same relation goes on (RELATIONS.md M6, SAFETY.md E14, E16).
func TestWithdrawnOfferSuspends(t *testing.T) {
	withdrawals := map[string][]relation.Abroad{
		"Deleted":  offering(),
		"Narrowed": offering(offer("main", "office")),
		"Other":    offering(offer("spare", namespace)),
		"OptedOut": {{Namespace: "bank", Offers: []relation.Offer{offer("main", namespace)}, Records: vault().Records}},
		"Gone":     nil,
	}
	for name, withdrawn := range withdrawals {
		t.Run(name, func(t *testing.T) {
			w, was := borrower(t)
			w.abroad = withdrawn
			w.settle(t)
			r := w.only(t)
			assert.False(t, r.Open())
			assert.True(t, r.Alive())
			assert.NotEqual(t, relation.Joined, r.State.Status, "RELATIONS.md L3")
			assert.False(t, r.Held(), "it is declared as before")
			assert.Equal(t, w.now, r.State.SuspendedSince)
			assert.Equal(t, relation.ReasonSuspended, ready(r).Reason)
			assert.Equal(t, "namespace bank no longer offers vault:main to this namespace: the relation resumes when it is offered again", ready(r).Message)
			assert.Contains(t, w.told("web"), "no longer offers vault:main")

			w.later(t, 1000*time.Hour)
			assert.True(t, w.only(t).Alive(), "E14: suspension is no end")
			w.abroad = offering(offer("main", namespace))
			w.settle(t)
			assert.True(t, w.only(t).Open())
			assert.Equal(t, was, w.only(t), "the same relation, with its id")
		})
	}
}

// A relation is suspending until the handlers of both sides have handled it, and no
// longer than they may take; what one has handled does not count for the next time
// (RELATIONS.md L3, L4).
func TestSuspendingUntilHandled(t *testing.T) {
	w, r := borrower(t)
	withdraw := func() {
		w.abroad = offering()
		w.settle(t)
		require.Equal(t, relation.Suspending, w.only(t).State.Status, "vault/0 has yet to hear")
	}
	handled := func(units ...string) {
		s := w.only(t).State
		s.Closed = units
		w.setState(r.Name, s)
		w.settle(t)
	}
	withdraw()
	handled("web/0")
	assert.Equal(t, relation.Suspending, w.only(t).State.Status, "who has no handlers is not waited for, nor does it count")
	handled("vault.bank/0")
	assert.Equal(t, relation.Suspended, w.only(t).State.Status)

	t.Log("given back and withdrawn again")
	w.abroad = offering(offer("main", namespace))
	w.settle(t)
	assert.Equal(t, relation.Joined, w.only(t).State.Status)
	assert.Empty(t, w.only(t).State.Closed)
	withdraw()
	w.later(t, 9*time.Minute)
	assert.Equal(t, relation.Suspending, w.only(t).State.Status)
	w.later(t, 2*time.Minute)
	assert.Equal(t, relation.Suspended, w.only(t).State.Status, "it had time enough")

	t.Log("ended, and nobody has heard of that")
	w.remove(r.Name, r.UID)
	w.settle(t)
	assert.Equal(t, relation.Broken, w.only(t).State.Status)
	assert.Contains(t, ready(w.only(t)).Message, "namespace bank has yet to take note", "SAFETY.md E14: a suspension that was handled is no end that was")
}

// Another Offer of the same endpoint takes over without a word.
func TestAnOfferReplacesAnother(t *testing.T) {
	w, was := borrower(t)
	w.abroad = offering(offer("main", "a-team", namespace))
	w.settle(t)
	assert.True(t, w.only(t).Open())
	assert.Equal(t, "to-a-team-main", w.only(t).State.Offer)
	assert.Equal(t, was.State.Conditions, w.only(t).State.Conditions)
}

// A hand-made Relation is open as long as an Offer covers it (RELATIONS.md M6);
// what was never offered shows nothing to the provider either (SAFETY.md M7).
func TestMadeByHandWithAnOffer(t *testing.T) {
	w := newWorld()
	w.consumes("web", "store:pg", "")
	w.relate(relation.Pair{Key: inVault(), Interface: "pg"}, w.uid(), false, 0)
	w.settle(t)
	assert.Equal(t, relation.ReasonNoOffer, ready(w.only(t)).Reason)
	record := relation.Record{Name: "vault"}
	assert.Empty(t, relation.Look("bank", record, []relation.Relation{w.only(t)}, nil, open()).Relations)
	w.abroad = offering(offer("main", namespace))
	w.settle(t)
	assert.True(t, ready(w.only(t)).True)
	assert.Empty(t, relation.Look("bank", record, []relation.Relation{w.only(t)}, nil, open()).Relations, "T3: not before it has an id there")
	assert.Len(t, relation.Look("bank", record, []relation.Relation{w.only(t)}, lent(w.only(t)), open()).Relations, 1)
}

// While a relation is suspended neither side sees anything of the other, and each
// hears that it is suspended, not final (SAFETY.md M7, E14).
func TestSuspendedSidesSeeNothing(t *testing.T) {
	w, _ := borrower(t)
	sides := func() map[string]relation.View {
		all := []relation.Relation{w.only(t)}
		return map[string]relation.View{
			"vault": relation.Look(namespace, relation.Record{Name: "web"}, all, nil, open()),
			"web":   relation.Look("bank", relation.Record{Name: "vault"}, all, w.abroad[0].Sides, open()),
		}
	}
	for other, view := range sides() {
		seen, heard := view.Relations[0], view.Heard(0).Relations[0]
		assert.Equal(t, map[string]string{"of": seen.Shown.There.Namespace}, view.Bags.Bag(seen.Shown.RemoteBag))
		assert.Len(t, seen.Shown.Units, 1)
		assert.Equal(t, conversation.Alive, heard.Life)
		assert.Equal(t, other+"."+seen.Shown.There.Namespace, heard.Remote)
	}
	w.abroad[0].Offers = nil
	w.settle(t)
	for _, view := range sides() {
		seen, heard := view.Relations[0], view.Heard(0).Relations[0]
		assert.True(t, seen.Shown.RemoteBag.IsZero())
		assert.Empty(t, seen.Shown.Units)
		assert.Empty(t, seen.Shown.Departed)
		assert.Equal(t, map[string]string{"of": seen.Here.Namespace}, view.Bags.Bag(seen.OwnBag), "its own stays")
		assert.False(t, seen.Shown.Complete)
		assert.Equal(t, conversation.Suspended, heard.Life)
		assert.Equal(t, conversation.SuspendedReason, heard.EndReason)
		assert.False(t, heard.Final)
	}
	r := w.only(t)
	w.remove(r.Name, r.UID)
	w.settle(t)
	assert.False(t, sides()["web"].Heard(0).Relations[0].Final, "the bank takes note of it first")
	w.abroad[0].Sides[0].Teardown = &relation.Teardown{Since: w.now, Reason: "Deleted"}
	for _, view := range sides() {
		assert.True(t, view.Heard(0).Relations[0].Final, "who ends it ends it for both")
	}
}

// The end of a relation waits for the units of both namespaces, also where it was
// suspended before, and where the requirer's namespace ends (RELATIONS.md L4).
func TestEndIsHeardAbroad(t *testing.T) {
	for name, prepare := range map[string]func(w *world){
		"Open":      func(*world) {},
		"Suspended": func(w *world) { w.abroad[0].Offers = nil },
		"Namespace": func(w *world) { w.ending = true },
	} {
		t.Run(name, func(t *testing.T) {
			w, r := borrower(t)
			delete(w.pods, "web-1")
			prepare(w)
			w.settle(t)
			w.remove(r.Name, r.UID)
			w.later(t, time.Minute)
			require.Len(t, w.relations, 1, "the bank has yet to take note of it")
			if !w.ending {
				assert.Contains(t, ready(w.only(t)).Message, "namespace bank has yet to take note of it")
			}
			owes := &w.abroad[0].Sides[0]
			owes.Teardown = &relation.Teardown{Since: w.now, Reason: "Deleted"}
			w.settle(t)
			assert.Empty(t, w.relations, "what is owed there keeps nothing here")
			if name == "Open" {
				assert.Contains(t, w.says("web", condition.Ready).Message, "namespace bank has yet to handle the end of the relation before")
			}
			w.abroad[0].Sides = nil
			w.settle(t)
			for _, next := range values(w.relations) {
				assert.NotEqual(t, r.UID, next.UID, "what is declared comes again as another")
			}
		})
	}
}

// What has ended before an Offer opened it waits for nobody (RELATIONS.md L1).
func TestNeverOpenedIsOverAtOnce(t *testing.T) {
	w := newWorld()
	w.consumes("web", "store:pg", "")
	w.relate(relation.Pair{Key: inVault(), Interface: "pg"}, w.uid(), false, 0)
	w.settle(t)
	r := w.only(t)
	w.remove(r.Name, r.UID)
	w.abroad = offering(offer("main", namespace))
	w.settle(t)
	assert.Empty(t, w.relations, "the handlers of vault/0 never heard of it")
}

// lender is the shop as provider: db, which an Offer gives to two namespaces.
func lender(t *testing.T) *world {
	t.Helper()
	w := newWorld()
	w.external("db", "main:pg")
	w.offers["all"] = relation.Offer{Namespace: namespace, Name: "all", Application: "db", Endpoint: "main", Consumers: known("office", "lab")}
	w.settle(t)
	return w
}

// borrows is a relation of another namespace to db, opened by an Offer.
func borrows(from string, since time.Time) relation.Relation {
	return relation.Relation{
		Key: relation.Key{Requirer: relation.End{Namespace: from, Application: "web", Endpoint: "store"}, Provider: relation.End{Namespace: namespace, Application: "db", Endpoint: "main"}},
		UID: "uid-of-" + from, Name: "web-store", State: relation.State{ID: 1, Offer: "all", SuspendedSince: since},
	}
}

// An Offer says whether it can be used and who uses it (SAFETY.md C1).
func TestOffersAnswer(t *testing.T) {
	tests := map[string]struct {
		why     string
		happens func(w *world)
		ready   bool
		reason  string
		message string
		uses    int
	}{
		"Nobody": {happens: func(*world) {}, ready: true, reason: relation.ReasonOffered, message: "no relation uses this Offer yet"},
		"Used": {happens: func(w *world) {
			w.consumers = []relation.Relation{borrows("office", time.Time{}), borrows("lab", time.Time{})}
		}, ready: true, reason: relation.ReasonOffered, message: "used by web.lab:store, web.office:store", uses: 2},
		"Suspended": {why: "by another, or while it was away", happens: func(w *world) { w.consumers = []relation.Relation{borrows("office", w.now)} }, ready: true, reason: relation.ReasonOffered, message: "no relation uses this Offer yet"},
		"NotThere":  {why: "it may come", happens: func(w *world) { delete(w.services, "db") }, reason: relation.ReasonNoApplication, message: "no application named db exists in this namespace yet"},
		"Misspelt": {why: "the nearest is named", happens: func(w *world) {
			delete(w.services, "db")
			w.external("dbs", "main:pg")
		}, reason: relation.ReasonNoApplication, message: "no application named db exists in this namespace yet; did you mean dbs?"},
		"NoEndpoint": {why: "the cure is in the declaration", happens: func(w *world) { w.external("db", "other:pg") }, reason: relation.ReasonNoMatch, message: "db provides no endpoint main: it provides other:pg"},
		"OptedOut":   {happens: func(w *world) { w.optedIn = false }, reason: relation.ReasonOptedOut, message: "this namespace has not opted in, so its Offers have no effect: kubectl label namespace shop tengu-injector=enabled --overwrite"},
		"Alias": {why: "A1: a Service is not the application", happens: func(w *world) {
			delete(w.services, "db")
			w.deployment("pg", map[string]string{application.KeyProvides: "main:pg"})
			w.service("db", nil)
			s := w.services["db"]
			s.Selector = map[string]string{"app": "pg"}
			w.services["db"] = s
		}, reason: relation.ReasonNoApplication, message: "Service db belongs to application pg: offer that application"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := lender(t)
			test.happens(w)
			w.settle(t)
			is := w.offers["all"].State
			c := condition.Why(is.Conditions)
			assert.Equal(t, condition.Condition{Type: condition.Ready, True: test.ready, Reason: test.reason, Message: test.message}, c, test.why)
			assert.Equal(t, test.uses, is.Relations)
		})
	}
}

// A provider keeps what relations of other namespaces are about, and is told which
// are suspended; one that was never open is nothing to it (SAFETY.md M7).
func TestProviderOfOtherNamespaces(t *testing.T) {
	w := lender(t)
	w.consumers = []relation.Relation{borrows("office", time.Time{})}
	delete(w.services, "db")
	w.settle(t)
	assert.NotEmpty(t, w.bagOfDB("main"), "a declaration that is gone takes nothing away")
	assert.Contains(t, w.records, "db")

	w.consumers = []relation.Relation{borrows("office", w.now)}
	w.settle(t)
	assert.Equal(t, "no Offer covers these relations any more: main with web.office:store: create an Offer that lists these namespaces as consumers, or "+
		"end the relations there", w.says("db", condition.Suspended).Message)
	assert.NotEmpty(t, w.bagOfDB("main"), "nor does a suspension")

	ended := borrows("office", w.now)
	ended.State.EndReason = "Deleted"
	w.consumers = []relation.Relation{ended}
	w.settle(t)
	assert.True(t, w.sides[ended.SideName(application.Provider)].Teardown.Over(), "no unit with handlers ever knew it")
	w.consumers = nil
	w.settle(t)
	assert.Empty(t, w.sides)
	assert.Empty(t, w.bagOfDB("main"))
	assert.NotContains(t, w.records, "db")

	never := borrows("office", time.Time{})
	never.State.Offer = ""
	w.consumers = []relation.Relation{never}
	w.settle(t)
	assert.Empty(t, w.sides)
	assert.NotContains(t, w.records, "db")
	assert.Equal(t, 0, w.offers["all"].State.Relations)
}

// The bags of a relation that lives in another namespace go with its side: when its end was handled and it has gone
// (SAFETY.md M7, TRUST.md T5).
func TestBagsOfOtherNamespacesAreSwept(t *testing.T) {
	w := lender(t)
	r := borrows("office", time.Time{})
	w.consumers = []relation.Relation{r}
	said := relation.Databag{Application: "db", Endpoint: "main", Relation: r.UID, Data: map[string]string{"password": "x"}, Home: relation.Home{Namespace: "office", Name: r.Name}}
	w.databags[said.Name()] = bag{said, true}
	for _, step := range []relation.Relation{r, borrows("office", w.now)} {
		w.consumers = []relation.Relation{step}
		w.settle(t)
		assert.Contains(t, w.databags, said.Name())
	}
	w.consumers = []relation.Relation{borrows("lab", time.Time{})}
	w.settle(t)
	assert.Contains(t, w.databags, said.Name(), "it is not known any more, and may be restored")
	r.State.EndReason = "Deleted"
	w.consumers = []relation.Relation{r}
	w.settle(t)
	assert.Contains(t, w.databags, said.Name())
	w.consumers = nil
	w.settle(t)
	assert.NotContains(t, w.databags, said.Name())
}

// What a person makes by hand is judged by the interface that is offered, not by
// whatever it names: the provider's writes would be judged by that (RELATIONS.md M1,
// P5).
func TestMadeByHandWithAnotherInterface(t *testing.T) {
	w := newWorld()
	w.consumes("web", "store:redis", "")
	w.pod(application.Deployment, "web", "web-1")
	w.abroad = offering(offer("main", namespace))
	w.relate(relation.Pair{Key: inVault(), Interface: "redis"}, w.uid(), false, 0)
	w.settle(t)
	r := w.only(t)
	assert.False(t, r.Open())
	assert.Equal(t, relation.ReasonNoMatch, ready(r).Reason)
	assert.Contains(t, ready(r).Message, "web:store requires redis, but vault.bank:main provides pg")
}

// While a relation is suspended nobody learns who leaves on the other side, and what
// was owed before is not lost (SAFETY.md M7, E15).
func TestSuspendedSidesDoNotDepart(t *testing.T) {
	w, _ := borrower(t)
	p := w.pods["web-1"]
	p.Address = "10.1.0.1"
	w.pods["web-1"] = p
	w.settle(t)
	delete(w.pods, "web-1")
	w.settle(t)
	require.Len(t, w.only(t).State.Departures, 1, "owed to the vault's handlers")
	w.abroad = nil
	w.settle(t)
	from := vault()
	from.Records[0].State.Units[0].Gone, from.Records[0].State.Units[0].GoneSince = "scaled-down", w.now
	w.abroad = []relation.Abroad{from}
	w.later(t, time.Minute)
	require.Len(t, w.only(t).State.Departures, 1)
	assert.Equal(t, "web/0", w.only(t).State.Departures[0].Unit.String())
}
