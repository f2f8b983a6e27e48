package transaction

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
)

// The reasons why a transaction is not stored.
var (
	// ErrDeposed says that the unit does not lead, or no longer for long enough.
	ErrDeposed = errors.New("the unit is not its application's leader")
	// ErrBusy says that another transaction of the unit is being stored.
	ErrBusy = errors.New("another transaction of the unit is being stored")
	// ErrChanged says that a value was changed after the author had read it.
	ErrChanged = errors.New("it was changed after it was read")
	// ErrInvalid marks a bag that would break the rules of bags.
	ErrInvalid = errors.New("invalid")
)

// Prepare returns a commit with one change for each bag, and without changes that change nothing
// (RELATIONS.md P3). leads reports whether the unit may write its application's bags now. Prepare
// refuses what a bag must not hold and what its interface does not allow: interfaces that known
// does not have are not judged. The bags of the commit must have been read, and after them the outbox: what it
// holds is about to change them, so that a value that is stored now may be a new one then.
func (c Commit) Prepare(s Stored, leads bool, known schema.Catalog, mode schema.Mode) (Commit, error) {
	if c.Leads() && !leads {
		return c, ErrDeposed
	}
	var changes []Change
	for _, change := range c.joined() {
		_, differs, err := Write(s.bags[c.Bag(change).Name()].Data, change.Set)
		if err != nil {
			return c, err
		}
		if err := change.fits(known, mode); err != nil {
			return c, err
		}
		if differs || !s.outbox.empty() {
			i, _ := known.Find(change.Interface, change.Version)
			change.Secret = i.Bag(change.Role, !change.Own).Secrets()
			changes = append(changes, change)
		}
	}
	c.Changes = changes
	return c, c.checkOutbox()
}

// fits refuses what a change must not write: secrets in plain text always, and what
// does not fit its interface where the namespace enforces that (RELATIONS.md P4, P5).
func (c Change) fits(known schema.Catalog, mode schema.Mode) error {
	i, ok := known.Find(c.Interface, c.Version)
	if !ok {
		return nil
	}
	if err := i.Refusal(mode, c.Role, !c.Own, c.Set); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return nil
}

// Write returns a bag after a change, and whether it differs from before. What is
// too large is refused whole, unless it shrinks (RELATIONS.md P6).
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
	if p := databag.CheckChange(bag, after); p != nil {
		return nil, false, fmt.Errorf("%w: %s", ErrInvalid, p.Reason)
	}
	return after, !maps.Equal(bag, after), nil
}
