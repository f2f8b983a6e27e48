package secret

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Snapshot is what is known of the secrets of a namespace, and of what they live
// with. It is read in this order: Kept, Busy, Secrets, and then the rest, so that
// what a secret names was there when it was read.
type Snapshot struct {
	Now time.Time
	// Kept is where content lies.
	Kept []Place
	// Busy says that a transaction is on its way, which may name content.
	Busy    bool
	Secrets []Secret
	// Relations are the UIDs of all relations that there are.
	Relations []string
	// Units are the units of each application that is known.
	Units map[string]Roll
}

// Roll lists an application's units by number.
type Roll struct {
	// Here are those that live, Gone those that have gone and are remembered.
	Here, Gone []string
	// Next is the number of the next new unit: of lower ones all were given.
	Next int
}

// left reports whether a unit has gone. A number that was never given is unknown,
// not gone (SAFETY.md E13).
func (r Roll) left(unit string) bool {
	number, err := strconv.Atoi(unit)
	return err == nil && number < r.Next && !slices.Contains(r.Here, unit)
}

// forgotten reports whether nothing of a unit is kept any more, its bags neither.
func (r Roll) forgotten(unit string) bool { return r.left(unit) && !slices.Contains(r.Gone, unit) }

// Decision is one thing to do.
//
//sumtype:decl
type Decision interface{ decision() }

// End removes the secret of a unit that was forgotten, or one that was never
// finished.
type End struct{ ID string }

// LetGo forgets grants whose relation is over and readers that have gone, and with
// them the revisions that nobody else reads.
type LetGo struct {
	ID        string
	Relations []string
	Readers   []Reader
}

// Discard removes content that no secret names.
type Discard struct{ Places []Place }

func (End) decision()     {}
func (LetGo) decision()   {}
func (Discard) decision() {}

// unnamed is how long content lies without a secret that names it: far longer than
// a transaction takes.
const unnamed = time.Hour

// Sweep returns what is to be removed because what it lived with has ended. What
// an application owns is never among it: its declaration may have vanished by
// mistake (SAFETY.md E14, L5). What is merely not known stays (E13).
func Sweep(s Snapshot) []Decision {
	var decisions []Decision
	named := map[Place]bool{}
	for _, one := range sortedByID(s.Secrets) {
		for _, p := range one.Places() {
			named[p] = true
		}
		roll, known := s.Units[one.Owner.Application]
		if one.Ended() && !s.Busy || one.Owner.Unit != "" && known && roll.forgotten(one.Owner.Unit) {
			decisions = append(decisions, End{one.ID})
			continue
		}
		if let := s.letGo(one); len(let.Relations)+len(let.Readers) > 0 {
			decisions = append(decisions, let)
		}
	}
	var places []Place
	for _, p := range s.Kept {
		if made, known := p.made(); !named[p] && !s.Busy && known && s.Now.Sub(made) > unnamed {
			places = append(places, p)
		}
	}
	if len(places) > 0 {
		slices.SortFunc(places, func(a, b Place) int { return strings.Compare(a.Key, b.Key) })
		decisions = append(decisions, Discard{places})
	}
	return decisions
}

func sortedByID(all []Secret) []Secret {
	return slices.SortedFunc(slices.Values(all), func(a, b Secret) int { return strings.Compare(a.ID, b.ID) })
}

func (s Snapshot) letGo(one Secret) LetGo {
	let := LetGo{ID: one.ID}
	for _, a := range one.Access {
		if !slices.Contains(s.Relations, a.Relation) && !slices.Contains(let.Relations, a.Relation) {
			let.Relations = append(let.Relations, a.Relation)
		}
	}
	for _, r := range one.Readers {
		if roll, known := s.Units[r.Application]; known && roll.left(r.Unit) {
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

// NewKey returns the key of a place, of text that no other has; it tells when it
// was made.
func NewKey(at time.Time, text string) string {
	return strconv.FormatInt(at.Unix(), 36) + "-" + text
}

// made tells when the place was chosen; what does not say so is not ours.
func (p Place) made() (time.Time, bool) {
	text, _, found := strings.Cut(p.Key, "-")
	seconds, err := strconv.ParseInt(text, 36, 64)
	return time.Unix(seconds, 0), found && err == nil
}
