package negotiation_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// neighbours are two namespaces: applications of the shop relate to the bank's.
type neighbours struct{ shop, bank *world }

func newNeighbours() neighbours {
	n := neighbours{newWorld(), newWorld()}
	n.bank.name, n.bank.namespaceUID, n.bank.uids = "bank", uidOf("bank"), 1000
	return n
}

// look has each see of the other what the controller would.
func (n neighbours) look() {
	from := relation.Abroad{Namespace: "bank", UID: n.bank.namespaceUID, OptedIn: n.bank.optedIn, Offers: values(n.bank.offers), Records: values(n.bank.records), Sides: values(n.bank.sides)}
	for _, b := range values(n.bank.databags) {
		if b.written {
			from.Databags = append(from.Databags, b.Databag)
		}
	}
	n.bank.elsewhere = map[string]string{namespace: n.shop.namespaceUID}
	n.shop.abroad, n.bank.consumers = []relation.Abroad{from}, nil
	for _, r := range n.abroad() {
		n.bank.consumers = append(n.bank.consumers, r.Relation)
	}
}

// abroad returns the shop's relations with the bank.
func (n neighbours) abroad() []kept {
	return slices.DeleteFunc(values(n.shop.relations), func(r kept) bool { return !r.Abroad() })
}

// settle has both settled in turn until neither has anything to do, which must be
// soon: neither writes for ever because of the other.
func (n neighbours) settle(t require.TestingT) {
	for range 6 {
		n.look()
		n.shop.settle(t)
		n.look()
		n.bank.settle(t)
		n.look()
		if decisions, _ := n.shop.negotiate(t); len(decisions) == 0 {
			return
		}
	}
	require.Fail(t, "two neighbours do not settle")
}

// happens lets one thing happen in one of them.
func (n neighbours) happens(t *rapid.T) {
	switch rapid.IntRange(0, 12).Draw(t, "event") {
	case 0, 1:
		n.shop.consumes("web", "store:pg,other:pg?", rapid.SampledFrom([]string{"", "store=db.bank", "db.bank:main,other=db.bank:spare", "store=db.bank:main"}).Draw(t, "relations"))
	case 2, 3:
		name := rapid.SampledFrom([]string{"one", "two"}).Draw(t, "offer")
		if rapid.IntRange(0, 2).Draw(t, "withdrawn") == 0 {
			delete(n.bank.offers, name)
			return
		}
		n.bank.offers[name] = relation.Offer{
			Namespace: "bank", Name: name, Application: "db", Endpoint: rapid.SampledFrom([]string{"main", "spare"}).Draw(t, "endpoint"),
			Consumers: named(rapid.SampledFrom([][]string{{namespace}, {"office"}, {"office", namespace}}).Draw(t, "consumers")...),
		}
	case 4:
		n.bank.external("db", rapid.SampledFrom([]string{"main:pg,spare:pg", "main:pg", "other:pg"}).Draw(t, "provides"))
	case 5:
		delete(n.bank.services, "db")
	case 6:
		n.bank.optedIn = rapid.IntRange(0, 2).Draw(t, "opted in") > 0
	case 7:
		if all := n.abroad(); len(all) > 0 {
			n.shop.remove(all[0].Name, all[0].UID)
		}
	case 8:
		for _, r := range n.abroad() {
			if _, kept := n.bank.sides[r.SideName(application.Provider)]; !kept {
				continue // no unit of the bank sees it
			}
			said := relation.Databag{Application: "db", Endpoint: r.Provider.Endpoint, Relation: r.UID, Data: map[string]string{"user": "web"}, Home: relation.Home{Namespace: namespace, Name: r.Name}}
			n.bank.databags[said.Name()] = bag{said, true}
		}
	case 9:
		later := rapid.SampledFrom([]time.Duration{time.Second, time.Hour, 25 * time.Hour}).Draw(t, "later")
		n.shop.now, n.bank.now = n.shop.now.Add(later), n.bank.now.Add(later)
	case 10:
		n.shop.namespaceUID = n.shop.uid()
	case 11:
		n.rebuild(rapid.Bool().Draw(t, "restored"))
	case 12:
		n.renew()
	}
}

// rebuild makes the bank again: restored with what it keeps of relations, or without.
func (n neighbours) rebuild(restored bool) {
	n.bank.namespaceUID = n.bank.uid()
	if !restored {
		clear(n.bank.sides)
		maps.DeleteFunc(n.bank.databags, func(_ string, b bag) bool { return b.Relation != "" })
	}
}

// renew has the bank's Offers be for the namespaces that there are now, as orcon offer renew does.
func (n neighbours) renew() {
	for name, o := range n.bank.offers {
		o.Consumers = slices.Clone(o.Consumers)
		for i, c := range o.Consumers {
			if c.Name == namespace {
				o.Consumers[i].UID = n.shop.namespaceUID
			}
		}
		n.bank.offers[name] = o
	}
}

// Whatever happens in two namespaces: a relation is open exactly as long as the
// bank consents and both are the namespaces that it was opened between (TRUST.md T8), it is never ended by it, both settle, and what was said for a
// relation that has gone goes (RELATIONS.md M6, SAFETY.md M7, E14, L5).
func TestNeighbours(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := newNeighbours()
		n.bank.external("db", "main:pg,spare:pg")
		for range rapid.IntRange(1, 15).Draw(t, "length") {
			n.happens(t)
			if rapid.IntRange(0, 3).Draw(t, "controller") == 0 {
				continue // looks later
			}
			before := maps.Clone(n.shop.relations)
			n.settle(t)
			n.check(t, before)
		}
	})
}

func (n neighbours) check(t *rapid.T, before map[string]kept) {
	alive, open := map[string]bool{}, 0
	for _, r := range n.abroad() {
		alive[r.UID] = true
		consents := n.bank.optedIn && slices.ContainsFunc(values(n.bank.offers), func(o relation.Offer) bool {
			return o.Application == r.Provider.Application && o.Endpoint == r.Provider.Endpoint && o.Covers(relation.Namespace{Name: namespace, UID: n.shop.namespaceUID})
		})
		same := r.State.ProviderUID == n.bank.namespaceUID
		assert.Equal(t, consents && same, r.Open(), "M6: open with consent and only then")
		assert.False(t, r.Held() && declaredIn(n.shop, r.Relation), "L5: what the bank does holds nothing that the shop declares")
		if r.Open() {
			open++
		}
		if old, known := before[r.Name]; known && old.UID == r.UID {
			assert.Contains(t, []int{0, r.State.ID}, old.State.ID, "E16: it keeps its id")
		}
	}
	for name, old := range before {
		if old.Abroad() && old.Alive() && !old.Held() && declaredIn(n.shop, old.Relation) {
			assert.True(t, alive[old.UID], "E14: nothing in the bank ends what the shop declares: %s", name)
		}
	}
	used := 0
	for _, o := range n.bank.offers {
		used += o.State.Relations
	}
	assert.Equal(t, open, used, "the Offers say how many use them")
	for _, b := range n.bank.databags {
		assert.True(t, b.Home.Namespace == "" || alive[b.Relation], "M7: a bag of a relation that has gone: %s", b.Name())
	}
}

// declaredIn says whether web still declares a relation.
func declaredIn(w *world, r relation.Relation) bool {
	web, there := w.workloads["Deployment/web"]
	refs, _ := application.ParseRelations(web.TemplateAnnotations[application.KeyRelations])
	return there && slices.ContainsFunc(refs, func(ref application.Reference) bool {
		return (ref.Endpoint == "" || ref.Endpoint == r.Requirer.Endpoint) && (ref.RemoteEndpoint == "" || ref.RemoteEndpoint == r.Provider.Endpoint)
	})
}
