package negotiation_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// lending is a pair between two namespaces, whose provider has handlers: a declaration and two persons relate it, Offers come
// and go, as do units, and Relations come back from a backup.
type lending struct {
	neighbours

	key relation.Key
	// told has the identities that handlers of the provider may know and whose end they have not handled, ids the identity of
	// each id of the provider's namespace.
	told map[string]bool
	ids  map[int]string
	// knows has the units of the provider that handlers of the requirer know, by identity and unit of the requirer.
	knows map[string]map[conversation.Unit]bool
	// backup has Relations as they were.
	backup *map[string]kept
	pods   *int
}

func newLending(t require.TestingT) lending {
	l := lending{neighbours: newNeighbours(), told: map[string]bool{}, ids: map[int]string{}, knows: map[string]map[conversation.Unit]bool{}, backup: &map[string]kept{}, pods: new(int)}
	l.provides("main:pg")
	l.up()
	l.shop.handling(application.Deployment, "web", "web-0")
	l.offer()
	l.declares("store=db.bank:main")
	l.settle(t)
	all := l.abroad()
	require.Len(t, all, 1)
	l.key = all[0].Key
	return l
}

func (l lending) declares(relations string) {
	l.shop.consumes("web", "store:pg", relations, application.KeyRetain, "1h")
}

func (l lending) provides(what string) {
	l.bank.deployment("db", map[string]string{application.KeyProvides: what, "data.tengu.io/main": "host: db"})
}

func (l lending) offer() {
	l.bank.offers["one"] = relation.Offer{Namespace: "bank", Name: "one", Application: "db", Endpoint: "main", Consumers: named(namespace)}
	l.renew()
}

// up adds a unit with handlers to the provider, and another one to the requirer.
func (l lending) up() {
	*l.pods++
	l.bank.handling(application.Deployment, "db", fmt.Sprintf("db-%d", *l.pods))
}

func (l lending) steps() map[string]func() {
	made := func(name string) func() {
		return func() {
			if _, there := l.shop.relations[name]; !there {
				l.shop.apply(name, l.key.Requirer, l.key.Provider, "pg", 0)
			}
		}
	}
	removed := func(name string) func() {
		return func() { l.shop.remove(name, l.shop.relations[name].UID) }
	}
	passes := func(d time.Duration) func() {
		return func() { l.shop.now, l.bank.now = l.shop.now.Add(d), l.bank.now.Add(d) }
	}
	return map[string]func(){
		"declare": func() { l.declares("store=db.bank:main") }, "undeclare": func() { l.declares("") },
		"make one": made("one"), "make two": made("two"), "delete one": removed("one"), "delete two": removed("two"),
		"delete declared": removed(l.key.Name()), "1m": passes(time.Minute), "20m": passes(20 * time.Minute), "2h": passes(2 * time.Hour),
		"offer": l.offer, "withdraw": func() { clear(l.bank.offers) },
		"up": l.up, "down": func() { clear(l.bank.pods) },
		"web up":   func() { *l.pods++; l.shop.handling(application.Deployment, "web", fmt.Sprintf("web-%d", *l.pods)) },
		"web down": func() { clear(l.shop.pods) },
		"bare":     func() { l.provides("") }, "provide": func() { l.provides("main:pg") },
		"gone":    func() { delete(l.bank.workloads, "Deployment/db"); clear(l.bank.pods) },
		"opt out": func() { l.bank.optedIn = false }, "opt in": func() { l.bank.optedIn = true },
		"answer": l.answer, "waive": func() { l.choose(relation.ChoiceWaive) }, "keep": func() { l.choose(relation.ChoiceKeep) },
		"hold": l.hold, "depart": l.depart,
		"bank restored": func() { l.rebuild(true) }, "shop restored": func() { l.shop.namespaceUID = l.shop.uid() }, "renew": l.renew,
		"back up": l.save, "restore": l.restore,
	}
}

// save makes a backup, restore makes again from it what is not there.
func (l lending) save() {
	clear(*l.backup)
	for _, r := range l.abroad() {
		if r.State.ID > 0 && r.Deleted.IsZero() {
			(*l.backup)[r.Name] = r
		}
	}
}

func (l lending) restore() {
	for name, r := range *l.backup {
		if _, there := l.shop.relations[name]; !there {
			r.Relation = withoutStatus(r.Relation)
			r.Created, r.Object = l.shop.now, "object-"+l.shop.uid()
			l.shop.relations[name] = r
		}
	}
}

// answer has a unit of the provider that leads handle what is owed.
func (l lending) answer() {
	for _, u := range l.bank.records["db"].State.Units {
		if _, there := l.bank.pods[u.Pod]; !there || u.Gone != "" || !u.Handles {
			continue
		}
		for name, s := range l.bank.sides {
			if s.Owes() {
				t := *s.Teardown
				t.Debt = t.Answered(conversation.Unit{Application: "db", Number: u.Number}, true)
				s.Teardown = &t
				l.bank.sides[name] = s
				if t.Over() {
					delete(l.told, s.Relation)
				}
			}
		}
	}
}

// borrowers yields the units of the requirer whose handlers hear of the relation, each with what it knows of it.
func (l lending) borrowers(r relation.Relation, yield func(unit conversation.Unit, knows map[conversation.Unit]bool)) {
	for _, u := range l.shop.records["web"].State.Units {
		if u.Gone == "" && u.Handles {
			unit := r.Unit(r.Requirer, u.Number)
			id := r.UID + " " + unit.String()
			if l.knows[id] == nil {
				l.knows[id] = map[conversation.Unit]bool{}
			}
			yield(unit, l.knows[id])
		}
	}
}

// depart has the units of the requirer handle the departures that they are asked for.
func (l lending) depart() {
	for _, r := range l.living() {
		l.borrowers(r, func(unit conversation.Unit, knows map[conversation.Unit]bool) {
			for i, d := range r.State.Departures {
				if slices.Contains(d.Owed, unit) && r.Open() {
					r.State.Departures = slices.Clone(r.State.Departures)
					r.State.Departures[i] = d.Answered(unit, conversation.Answer{Unit: d.Unit, Since: d.Since, Handled: knows[d.Unit]})
					delete(knows, d.Unit)
				}
			}
		})
		l.shop.setState(r.Name, r.State)
	}
}

// forgets has the requirer's units know nothing of relations whose end they hear of.
func (l lending) forgets() {
	for _, s := range l.shop.sides {
		if s.Teardown != nil {
			maps.DeleteFunc(l.knows, func(id string, _ map[conversation.Unit]bool) bool { return strings.HasPrefix(id, s.Relation+" ") })
		}
	}
}

// departures checks that what the requirer's units know of the provider's, and is there no more, is owed to them.
func (l lending) departures(t require.TestingT) {
	for _, r := range l.living() {
		side, kept := l.shop.sides[r.SideName(application.Requirer)]
		if !r.Open() || !kept || side.Relation != r.UID || side.Teardown != nil {
			continue
		}
		l.borrowers(r, func(unit conversation.Unit, knows map[conversation.Unit]bool) {
			there := map[conversation.Unit]bool{}
			for _, u := range l.bank.records["db"].State.Units {
				there[r.Unit(r.Provider, u.Number)] = u.Gone == ""
			}
			for known := range knows {
				owed := slices.ContainsFunc(r.State.Departures, func(d conversation.Departure) bool {
					return d.Unit == known && slices.Contains(d.Owed, unit)
				})
				assert.True(t, there[known] || owed, "E15: %s does not hear of the departure of %s: %v", unit, known, r.State.Departures)
			}
			for known, is := range there {
				if is {
					knows[known] = true
				}
			}
		})
	}
}

// choose has a person decide about the ends that are there; hold has too many end with one that was just found.
func (l lending) choose(c relation.Choice) {
	for name, s := range l.bank.sides {
		if s.Teardown != nil && (c != relation.ChoiceKeep || s.Held()) {
			s.Choice = c
			l.bank.sides[name] = s
			if c == relation.ChoiceWaive {
				delete(l.told, s.Relation)
			}
		}
	}
}

func (l lending) hold() {
	for name, s := range l.bank.sides {
		if s.Teardown != nil && s.Choice == "" && len(s.Teardown.Owed) > 0 {
			s = stored(s)
			t := *s.Teardown
			t.Held = true
			s.Teardown = &t
			l.bank.sides[name] = s
		}
	}
}

// obeys has a person delete relations with an earlier namespace of the provider, as their messages ask. A side of the
// relation in the namespace that is restored has it go on; there is none while the end of the relation before is owed.
func (l lending) obeys() {
	for _, r := range l.abroad() {
		if condition.Why(r.State.Conditions).Reason == relation.ReasonNamespaceReplaced {
			l.shop.remove(r.Name, r.UID)
		}
	}
}

// rests negotiates in turn until neither has anything to do.
func (l lending) rests(t require.TestingT) {
	for range 12 {
		quiet := true
		for _, w := range []*world{l.shop, l.bank} {
			l.look()
			decisions, _ := w.negotiate(t)
			quiet = quiet && len(decisions) == 0
			w.run(decisions, all)
			w.check(t)
		}
		if quiet {
			return
		}
	}
	require.Fail(t, "they do not settle")
}

func (l lending) living() (living []relation.Relation) {
	for _, r := range l.abroad() {
		living = append(living, r.Relation)
	}
	living, _ = relation.Current(living)
	return slices.DeleteFunc(living, func(r relation.Relation) bool { return r.Key != l.key || r.State.ID == 0 || !r.Alive() })
}

func (l lending) checks(t require.TestingT) {
	kept := map[string]bool{}
	for _, s := range values(l.bank.sides) {
		kept[s.Relation] = true
		if s.Known && (s.Teardown == nil || !s.Teardown.Over()) {
			l.told[s.Relation] = true
		}
		if before := l.ids[s.ID]; before != "" {
			assert.Equal(t, before, s.Relation, "T3: id %d is given twice", s.ID)
		}
		l.ids[s.ID] = s.Relation
	}
	for identity := range l.told {
		assert.True(t, kept[identity], "T2: the end of %s is lost", identity)
	}
	assert.LessOrEqual(t, len(l.living()), 1)
	l.forgets()
	l.departures(t)
}

// Whatever comes and goes: handlers of the provider that know of a relation are owed its end, and those of the requirer the
// departures of units that they know; no id is given twice; and when all is there again and all that is owed is handled, one
// relation works (SAFETY.md E15, TRUST.md T2, T3, T5, A11).
func TestLendingOfAnyHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := newLending(t)
		steps := l.steps()
		names := slices.Sorted(maps.Keys(steps))
		names = rapid.Permutation(names).Draw(t, "order")[:rapid.IntRange(2, 9).Draw(t, "of")] // few of them meet more often
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			steps[rapid.SampledFrom(names).Draw(t, "what")]()
			for range rapid.IntRange(0, 2).Draw(t, "kills") {
				w := rapid.SampledFrom([]*world{l.shop, l.bank}).Draw(t, "where")
				l.look()
				decisions, _ := w.negotiate(t)
				w.run(decisions, rapid.IntRange(0, 5).Draw(t, "writes"))
				l.forgets()
			}
			if rapid.IntRange(0, 4).Draw(t, "looks") > 0 {
				l.rests(t)
				l.checks(t)
			}
			steps["1m"]()
		}
		for _, what := range []string{"provide", "opt in", "offer", "up", "declare"} {
			steps[what]()
		}
		for range 4 {
			l.rests(t)
			l.checks(t)
			l.choose(relation.ChoiceConfirm)
			l.obeys()
			l.rests(t)
			l.answer()
			steps["2h"]()
		}
		l.rests(t)
		require.Len(t, l.living(), 1)
		r := l.living()[0]
		assert.True(t, r.Open())
		s, there := l.bank.sides[r.SideName(application.Provider)]
		require.True(t, there)
		assert.Equal(t, r.UID, s.Relation)
		assert.Nil(t, s.Teardown)
		assert.True(t, s.Known)
	})
}
