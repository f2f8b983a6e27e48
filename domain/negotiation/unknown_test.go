package negotiation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/negotiation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// What is decided beside a side that cannot be read: whether it owes an end is unknown (TRUST.md T2).
func TestUnreadableSide(t *testing.T) {
	tests := map[string]struct {
		why     string
		happens func(*world, relation.Relation)
		want    []string
	}{
		"Alone":   {why: "its Relation and its application show it, and no more", want: []string{"Remember db", "Update "}},
		"Deleted": {why: "the end would be lost", happens: func(w *world, r relation.Relation) { w.remove(r.Name, r.UID) }, want: []string{"Remember db", "Update "}},
		"DeletedLong": {why: "however long that takes", happens: func(w *world, r relation.Relation) {
			w.remove(r.Name, r.UID)
			w.now = w.now.Add(24 * time.Hour)
		}, want: []string{"Remember db", "Update "}},
		"NotDeclared": {why: "E14: it is not held, and its time does not run", happens: func(w *world, _ relation.Relation) { w.consumes("web-0", "store:pg", "") },
			want: []string{"Remember db", "Update "}},
		"RelationGone": {why: "L1: the next relation of the pair waits, and the application has debts, perhaps", happens: func(w *world, r relation.Relation) {
			delete(w.relations, r.Name)
		}, want: []string{"Remember db", "Remember web-0"}},
		"AllGone": {why: "P2: what its handlers may need stays", happens: func(w *world, r relation.Relation) {
			said := relation.Databag{Application: "db", Endpoint: "main", Relation: r.UID, Unit: "0", Data: map[string]string{"user": "web"}}
			w.databags[said.Name()] = bag{said, true}
			delete(w.relations, r.Name)
			w.clear()
			w.now = w.now.Add(24 * time.Hour)
		}, want: []string{"Remember db", "Forget web-0"}},
		"NewPair": {why: "T3: it may have the highest id", happens: func(w *world, _ relation.Relation) { w.consumes("api", "store:pg", "db") },
			want: []string{"Remember api", "Remember db", "Update "}},
		"NewConsumer": {why: "T3: a side is given an id too", happens: func(w *world, _ relation.Relation) {
			w.consumers = []relation.Relation{{
				Key:  relation.Key{Requirer: relation.End{Namespace: "office", Application: "web", Endpoint: "store"}, Provider: here("db", "main")},
				Name: "web", UID: "other", Interface: "pg", State: relation.State{ID: 1, Offer: "one", ProviderUID: w.namespaceUID},
			}}
		}, want: []string{"Remember db", "Update "}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := tenants(t, 1)
			r := w.only(t)
			if test.happens != nil {
				test.happens(w, r)
			}
			for i, want := range test.want {
				if want == "Update " {
					test.want[i] += r.Name
				}
			}
			hidden := func() relation.Snapshot {
				return hide(w.observe(), relation.KindSide, namespace, r.SideName(application.Provider))
			}
			decisions, _ := negotiation.Negotiate(hidden())
			assert.Equal(t, test.want, abouts(decisions), test.why)
			w.run(decisions, all)
			decisions, _ = negotiation.Negotiate(hidden())
			assert.Empty(t, decisions, "it is said once")
			said := w.says("db", condition.EndsOwed)
			assert.Equal(t, relation.ReasonUnreadable, said.Reason)
			assert.Contains(t, said.Message, "kubectl -n shop get relationside "+r.SideName(application.Provider)+" -o yaml")
			assert.Contains(t, said.Message, "delete it, which gives up an end that it owes to handlers")
			assert.Zero(t, w.records["db"].State.EndsOwed, "what is unknown is not counted")
		})
	}
}

// Its Relation shows that it cannot be read, beside what else it shows, and a new one of the pair waits, whether it is
// declared or made by hand; both go on when it can be read.
func TestUnreadableSideIsShown(t *testing.T) {
	for name, readable := range map[string]bool{"NoID": false, "ID": true} {
		t.Run(name, func(t *testing.T) {
			w := tenants(t, 1)
			r := w.only(t)
			side := r.SideName(application.Provider)
			spoilt := func() {
				for range 2 {
					s := hide(w.observe(), relation.KindSide, namespace, side)
					if readable {
						s.Unreadable[0].Side.ID = r.State.ID
					}
					decisions, _ := negotiation.Negotiate(s)
					w.run(decisions, all)
				}
			}
			spoilt()
			shown := w.relations[r.Name]
			assert.Equal(t, relation.ReasonUnreadable, ready(shown.Relation).Reason)
			assert.Contains(t, ready(shown.Relation).Message, "cannot read "+side)
			shown.State.Conditions = r.State.Conditions
			assert.Equal(t, r.State, shown.State, "nothing else of it is changed")
			w.settle(t)
			assert.Equal(t, r.State, w.only(t).State)

			delete(w.relations, r.Name)
			spoilt()
			assert.Empty(t, w.relations)
			assert.Contains(t, w.says(tenant(0), condition.Ready).Message, "cannot read "+side)
			w.consumes(tenant(0), "store:pg", "")
			w.relate(relation.Pair{Key: r.Key, Interface: "pg"}, w.uid(), false, 0)
			spoilt()
			assert.Zero(t, w.only(t).State.ID)
			assert.Equal(t, relation.ReasonUnreadable, ready(w.only(t)).Reason)
			w.settle(t)
			assert.Equal(t, r.State.ID, w.only(t).State.ID, "T0: it is the same relation")
			assert.Equal(t, r.UID, w.only(t).UID)
		})
	}
}

// A requirer's end that is held waits for its provider's side, also while that cannot be read (TRUST.md T4).
func TestEndOfRequirerWaitsForAnUnreadableSide(t *testing.T) {
	w := newWorld()
	w.deployment("db", map[string]string{application.KeyProvides: "main:pg", "data.tengu.io/main": "host: db"})
	w.handling(application.Deployment, "db", "db-0")
	w.consumes("web", "store:pg", "db")
	w.handling(application.Deployment, "web", "web-0")
	w.settle(t)
	r := w.only(t)
	w.consumes("web", "store:pg", "")
	delete(w.relations, r.Name)
	for name, side := range w.sides {
		side.Teardown = &relation.Teardown{Since: w.now, Reason: "Deleted", Held: true}
		w.sides[name] = side
	}
	w.settle(t)
	decisions, _ := negotiation.Negotiate(hide(w.observe(), relation.KindSide, namespace, r.SideName(application.Provider)))
	assert.NotContains(t, abouts(decisions), "Keep "+r.SideName(application.Requirer))
}

// A side that was restored with its namespace, and cannot be read, shows that the namespace is the same (TRUST.md T8).
// Its relation is not suspended, in neither namespace.
func TestUnreadableSideOfARestoredNamespace(t *testing.T) {
	n := newNeighbours()
	n.bank.external("db", "main:pg")
	n.bank.offers["one"] = relation.Offer{Namespace: "bank", Name: "one", Application: "db", Endpoint: "main", Consumers: known(namespace)}
	n.shop.consumes("web", "store:pg", "store=db.bank")
	n.settle(t)
	r := n.shop.only(t)
	n.rebuild(true)
	n.look()
	side := r.SideName(application.Provider)
	decisions, _ := negotiation.Negotiate(hide(n.shop.observe(), relation.KindSide, "bank", side))
	require.Equal(t, []string{"Update " + r.Name}, abouts(decisions))
	is := decisions[0].(relation.Update)
	assert.Zero(t, is.State.SuspendedSince)
	assert.Equal(t, "RelationSide "+side+" of namespace bank cannot be read: it must be corrected there", ready(is.Relation).Message)
	n.shop.remove(r.Name, r.UID)
	decisions, _ = negotiation.Negotiate(hide(n.shop.observe(), relation.KindSide, "bank", side))
	assert.Equal(t, []string{"Update " + r.Name}, abouts(decisions), "L4: it waits for the bank")
}

// A side that is readable counts, whatever else claims to be it.
func TestReadableSideCounts(t *testing.T) {
	w := tenants(t, 1)
	s := w.observe()
	s.Unreadable = []relation.Unreadable{{Kind: relation.KindSide, Namespace: namespace, Name: "copy", Problem: "cannot read copy", Side: w.ofTenant(t, 0)}}
	decisions, _ := negotiation.Negotiate(s)
	assert.Empty(t, decisions)
}
