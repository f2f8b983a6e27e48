package secret

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Snapshot holds the secrets of a namespace, and the objects that they depend on. It is read in this order: Marks,
// Busy, Secrets, and then the rest, so that every object that a secret names existed when it was read.
type Snapshot struct {
	Now time.Time
	// Marks are the contents that are marked. All others stay: that no secret names one
	// says nothing, since its secret may be restored later (TRUST.md T5).
	Marks []Mark
	// Busy says that a transaction is on its way, which may name content.
	Busy    bool
	Secrets []Secret
	// Relations are the identities of all relations that exist, or whose sides are kept.
	Relations []string
	// Defined is when the definitions of relations and of their sides were made, by a restore too.
	Defined time.Time
	// Units are the units of each application that is known.
	Units map[string]Roll
}

// Mark marks content that goes unless a secret names it: no transaction had named it
// yet, or its secret was about to let go of it, or was deleted. It outlives the process
// that made it.
type Mark struct {
	Place Place
	// Since is when it was made, or when the Secret that holds both was restored.
	Since time.Time
}

// Roll lists the units of an application by number, as its record does.
type Roll struct {
	// Here are those that live, Gone those that have departed and are remembered.
	Here, Gone []string
	// Next is the number of the next new unit.
	Next int
	// Since is when the record was made. It knows nothing of units before that: a record
	// that is made anew, by a restore too, lists only who is there then.
	Since time.Time
}

// left reports whether a unit that was there at a time has departed: the record lists
// it as departed, or lists it no more although it was there in its time. Any other
// unit is unknown, not gone (SAFETY.md E13, TRUST.md T5).
func (r Roll) left(unit string, seen time.Time) bool {
	if slices.Contains(r.Gone, unit) {
		return true
	}
	number, err := strconv.Atoi(unit)
	return err == nil && number < r.Next && !slices.Contains(r.Here, unit) && !seen.Before(r.Since)
}

// forgotten reports whether nothing of a unit that was there at a time is kept any
// more, its bags neither.
func (r Roll) forgotten(unit string, seen time.Time) bool {
	return !slices.Contains(r.Gone, unit) && r.left(unit, seen)
}

// Decision is one thing to do.
//
//sumtype:decl
type Decision interface{ decision() }

// End removes the secret of a unit that was forgotten.
type End struct{ ID string }

// Drop removes the tombstone of a secret.
type Drop struct{ ID string }

// LetGo forgets grants whose relation is over and readers that have gone, and with them the revisions without another
// reader.
type LetGo struct {
	ID        string
	Relations []string
	Readers   []Reader
}

// Unmark takes the marks off contents that secrets name.
type Unmark struct{ Places []Place }

// Discard removes marked contents that no secret names.
type Discard struct{ Places []Place }

func (End) decision()     {}
func (Drop) decision()    {}
func (LetGo) decision()   {}
func (Unmark) decision()  {}
func (Discard) decision() {}

// doubt is how long marked content, and grants for relations that are missing after a restore, are left alone: far
// longer than a transaction takes, and than a restore of a namespace.
const doubt = 24 * time.Hour

// Doubted reports whether a mark is old enough to act on it.
func (m Mark) Doubted(now time.Time) bool { return now.Sub(m.Since) > doubt }

// Sweep returns what is to be removed because what it lived with has ended. What
// an application owns is never among it: its declaration may have vanished by
// mistake (SAFETY.md E14, L5). What is merely not known stays (E13, TRUST.md T5).
func Sweep(s Snapshot) []Decision {
	var decisions []Decision
	named := map[Place]bool{}
	for _, one := range sortedByID(s.Secrets) {
		for _, p := range one.Places() {
			named[p] = true
		}
		switch {
		case s.forgotten(one):
			decisions = append(decisions, End{one.ID})
			continue
		case weathered(one, s.Now):
			decisions = append(decisions, Drop{one.ID})
			continue
		}
		if let := s.letGo(one); len(let.Relations)+len(let.Readers) > 0 {
			decisions = append(decisions, let)
		}
	}
	var unmarked, discarded []Place
	for _, m := range s.Marks {
		switch {
		case s.Busy || !m.Doubted(s.Now):
		case named[m.Place]:
			unmarked = append(unmarked, m.Place)
		default:
			discarded = append(discarded, m.Place)
		}
	}
	if len(unmarked) > 0 {
		decisions = append(decisions, Unmark{sortedByKey(unmarked)})
	}
	if len(discarded) > 0 {
		decisions = append(decisions, Discard{sortedByKey(discarded)})
	}
	return decisions
}

func sortedByID(all []Secret) []Secret {
	return slices.SortedFunc(slices.Values(all), func(a, b Secret) int { return strings.Compare(a.ID, b.ID) })
}

func sortedByKey(all []Place) []Place {
	return slices.SortedFunc(slices.Values(all), func(a, b Place) int { return strings.Compare(a.Key, b.Key) })
}

// forgotten reports whether the unit that owns a secret is forgotten. It was there when
// it wrote the last revision. A secret without revisions is unknown.
func (s Snapshot) forgotten(one Secret) bool {
	roll, known := s.Units[one.Owner.Application]
	return known && one.Owner.Unit != "" && !one.Ended() && roll.forgotten(one.Owner.Unit, one.latest().Created)
}

// knows reports whether the relations of a secret are known, so that those that are missing are over. After a restore of
// the secret or of their definitions they may follow for a while (TRUST.md T5).
func (s Snapshot) knows(one Secret) bool {
	return s.Now.Sub(one.Made) > doubt && s.Now.Sub(s.Defined) > doubt
}

func (s Snapshot) letGo(one Secret) LetGo {
	let := LetGo{ID: one.ID}
	for _, a := range one.Access {
		if s.knows(one) && !slices.Contains(s.Relations, a.Relation) && !slices.Contains(let.Relations, a.Relation) {
			let.Relations = append(let.Relations, a.Relation)
		}
	}
	for _, r := range one.Readers {
		if roll, known := s.Units[r.Application]; known && roll.left(r.Unit, r.Since) {
			let.Readers = append(let.Readers, r)
		}
	}
	return let
}

// Of returns the secret without what is let go.
func (l LetGo) Of(s Secret) Secret {
	return s.Forget(
		func(relation string) bool { return slices.Contains(l.Relations, relation) },
		func(application, unit string) bool {
			return slices.ContainsFunc(l.Readers, func(r Reader) bool { return r.Application == application && r.Unit == unit })
		},
	)
}
