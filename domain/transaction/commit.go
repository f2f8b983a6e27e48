package transaction

import (
	"maps"
	"slices"
	"strconv"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// Commit is a transaction of one unit: stored whole or not at all
// (RELATIONS.md E11).
type Commit struct {
	Namespace   string
	Application string
	Unit        int
	// PodUID is the unit's pod; a leader is known by it.
	PodUID string
	// Term is the leader's, where an application's bag is changed.
	Term int
	// Cause is the handler or the tool that wrote it.
	Cause   string
	Changes []Change
	// Secrets are the writes about secrets, in order; their content is stored already.
	Secrets []secret.Write
	// ID identifies the transaction, so that it is delivered once.
	ID string
}

// Change is the change that a transaction makes to one bag.
type Change struct {
	// Relation is the name of the relation's object, UID its identity, Namespace where
	// it is; empty for the writer's own.
	Relation, UID, Namespace string
	// Endpoint is the writer's own, and Role its part.
	Endpoint string
	Role     application.Role
	// Interface and Version name the interface that judges the relation's bags.
	Interface string
	Version   int
	// Own is set where the bag is the unit's own; else it is its application's.
	Own bool
	// Set maps keys to new values; an empty value deletes the key
	// (RELATIONS.md P3).
	Set map[string]string
	// Seen maps keys to the versions of the values that the author has acted on. A key that is not in it is not judged.
	Seen map[string]string
	// Secret lists the keys whose values no record keeps.
	Secret []string
}

// Leads reports whether only a leader may commit it.
func (c Commit) Leads() bool {
	return slices.ContainsFunc(c.Changes, func(change Change) bool { return !change.Own })
}

// Bag returns the bag that a change is about, without content.
func (c Commit) Bag(change Change) relation.Databag {
	b := relation.Databag{Application: c.Application, Endpoint: change.Endpoint, Relation: change.UID}
	if change.Namespace != "" && change.Namespace != c.Namespace {
		b.Home = relation.Home{Namespace: change.Namespace, Name: change.Relation}
	}
	if change.Own {
		b.Unit, b.PodUID = c.number(), c.PodUID
	}
	return b
}

// Outbox returns the name of the object in which the unit's transactions are
// committed.
func (c Commit) Outbox() string { return relation.OutboxName(c.Application, c.number()) }

// Earlier returns the units whose transactions must be delivered before a leader's first commit in a term: the other
// units of its application, also departed ones. What an earlier leader has committed is whole then, and the
// commit is laid on top of it (TRUST.md T10).
func (c Commit) Earlier(units []application.Unit) []int {
	var all []int
	for _, u := range units {
		if u.Number != c.Unit {
			all = append(all, u.Number)
		}
	}
	return all
}

func (c Commit) number() string { return strconv.Itoa(c.Unit) }

// empty reports whether there is nothing to store.
func (c Commit) empty() bool { return len(c.Changes)+len(c.Secrets) == 0 }

// author returns the unit as the owner of secrets. It led where it had to, or the commit was refused.
func (c Commit) author() secret.Unit {
	return secret.Unit{Application: c.Application, Number: c.number(), Leads: true}
}

// termOf returns the term that a change is written in; 0 for a unit's own bag, which needs no leader.
func (c Commit) termOf(change Change) int {
	if change.Own {
		return 0
	}
	return c.Term
}

// Reads returns the readings of the bags that the commit changes.
func (c Commit) Reads() (all []Request) {
	for _, change := range c.joined() {
		all = append(all, ReadBag{c.Bag(change)})
	}
	return all
}

// joined returns changes with one change for each bag: of one key the last value counts.
func (c Commit) joined() []Change {
	var all []Change
	at := map[string]int{}
	for _, change := range c.Changes {
		name := c.Bag(change).Name()
		i, again := at[name]
		if !again {
			at[name] = len(all)
			all = append(all, change)
			continue
		}
		all[i].Set, all[i].Seen = over(change.Set, all[i].Set), over(all[i].Seen, change.Seen)
	}
	return all
}

// over returns what both maps have; of a key in both the value in the first counts.
func over(first, second map[string]string) map[string]string {
	if len(first) == 0 {
		return second
	}
	all := maps.Clone(first)
	for key, value := range second {
		if _, has := first[key]; !has {
			all[key] = value
		}
	}
	return all
}

// bySecret returns the writes about each secret, in order of their first.
func (c Commit) bySecret() [][]secret.Write {
	var all [][]secret.Write
	at := map[string]int{}
	for _, w := range c.Secrets {
		if _, seen := at[w.ID]; !seen {
			at[w.ID] = len(all)
			all = append(all, nil)
		}
		all[at[w.ID]] = append(all[at[w.ID]], w)
	}
	return all
}
