package relation

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
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
	Term    int
	Changes []Change
}

// Change is what a transaction changes in one bag.
type Change struct {
	// Relation is the name of the relation's object, UID its identity.
	Relation, UID string
	// Endpoint is the writer's own.
	Endpoint string
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

// The limits of a bag in bytes (RELATIONS.md P6).
const (
	maxKey   = 253
	maxValue = 64 << 10
	maxBag   = 512 << 10
)

// ErrInvalid says that a bag would be what no bag may be.
var ErrInvalid = errors.New("invalid")

// Write returns a bag after a change, and whether it differs from before. What is
// too large is refused whole (RELATIONS.md P6).
func Write(bag, set map[string]string) (after map[string]string, differs bool, err error) {
	after = Overlay(bag, set)
	size := 0
	for _, key := range slices.Sorted(maps.Keys(after)) {
		value := after[key]
		size += len(key) + len(value)
		switch {
		case key == "" || len(key) > maxKey:
			return nil, false, fmt.Errorf("%w: key %.40q has %d bytes: a key has 1 to %d", ErrInvalid, key, len(key), maxKey)
		case len(value) > maxValue:
			return nil, false, fmt.Errorf("%w: the value of %q has %d bytes: a value has at most %d", ErrInvalid, key, len(value), maxValue)
		}
	}
	if size > maxBag {
		return nil, false, fmt.Errorf("%w: the bag would have %d bytes: a bag has at most %d", ErrInvalid, size, maxBag)
	}
	return after, !maps.Equal(bag, after), nil
}
