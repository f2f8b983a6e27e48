package negotiation

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
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
	// Cause is the handler that said it, or the tool.
	Cause   string
	Changes []Change
}

// Change is what a transaction changes in one bag.
type Change struct {
	// Relation is the name of the relation's object, UID its identity, Namespace where
	// it is; empty for the writer's own.
	Relation, UID, Namespace string
	// Endpoint is the writer's own, and Role its part.
	Endpoint string
	Role     application.Role
	// Interface and Version are what the relation's bags are judged by.
	Interface string
	Version   int
	// Own is set where the bag is the unit's own; else it is its application's.
	Own bool
	// Set maps keys to new values; an empty value deletes the key
	// (RELATIONS.md P3).
	Set map[string]string
}

// Leads reports whether only a leader may commit it.
func (c Commit) Leads() bool {
	return slices.ContainsFunc(c.Changes, func(change Change) bool { return !change.Own })
}

// Bag returns the bag that a change is about, without content.
func (c Commit) Bag(change Change) Databag {
	b := Databag{Application: c.Application, Endpoint: change.Endpoint, Relation: change.UID}
	if change.Namespace != "" && change.Namespace != c.Namespace {
		b.Home = Home{change.Namespace, change.Relation}
	}
	if change.Own {
		b.Unit = strconv.Itoa(c.Unit)
	}
	return b
}

// Outbox returns the name of the object in which the unit's transactions are
// committed.
func (c Commit) Outbox() string { return OutboxName(c.Application, strconv.Itoa(c.Unit)) }

// OutboxName returns the name of the object in which a unit's transactions are
// committed.
func OutboxName(application, unit string) string {
	return objectName(application+"-"+unit+"-outbox", application, unit, "outbox")
}

// ErrInvalid says that a bag would be what no bag may be.
var ErrInvalid = errors.New("invalid")

// Fits refuses what a change must not write: secrets in plain text always, and what
// does not fit its interface where the namespace enforces that (RELATIONS.md P4,
// P5). What is not known is judged by nobody.
func (c Change) Fits(known schema.Catalog, mode schema.Mode) error {
	i, ok := known.Find(c.Interface, c.Version)
	if !ok {
		return nil
	}
	if err := i.Refusal(mode, c.Role, !c.Own, c.Set); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return nil
}

// Secrets are the fields of the changed bag whose values no record keeps.
func (c Change) Secrets(known schema.Catalog) []string {
	i, _ := known.Find(c.Interface, c.Version)
	return i.Bag(c.Role, !c.Own).Secrets()
}

// Write returns a bag after a change, and whether it differs from before. What is
// too large is refused whole (RELATIONS.md P6).
func Write(bag, set map[string]string) (after map[string]string, differs bool, err error) {
	after = databag.Overlay(bag, set)
	for _, key := range slices.Sorted(maps.Keys(after)) {
		if key == "" {
			return nil, false, fmt.Errorf("%w: a value without a key", ErrInvalid)
		}
		if p := databag.CheckPair(key, after[key]); p != nil {
			return nil, false, fmt.Errorf("%w: key %q: %s", ErrInvalid, p.Key, p.Reason)
		}
	}
	if p := databag.CheckSize(after); p != nil {
		return nil, false, fmt.Errorf("%w: %s", ErrInvalid, p.Reason)
	}
	return after, !maps.Equal(bag, after), nil
}
