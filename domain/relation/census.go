package relation

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// Census holds the relations of a cluster, as a person who takes Orcon away finds them (TRUST.md T1).
type Census struct {
	Relations []Relation
	Sides     []Side
	// Units are those of each application, whose End has no endpoint.
	Units map[End][]application.Unit
}

// Bare lists the applications whose next pod starts without files and variables: those with an agent, and those that
// a relation gives data to.
func (c Census) Bare() []End {
	all := map[End]bool{}
	for of, units := range c.Units {
		if slices.ContainsFunc(units, func(u application.Unit) bool { return u.Gone == "" }) {
			all[of] = true
		}
	}
	for _, r := range c.Relations {
		if r.Alive() {
			all[End{Namespace: r.Requirer.Namespace, Application: r.Requirer.Application}] = true
		}
	}
	return slices.SortedFunc(maps.Keys(all), func(a, b End) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Application, b.Application))
	})
}

// Owed lists the sides that owe the end of their relation to their handlers.
func (c Census) Owed() []Side { return c.sorted(Side.Owes) }

// Unhandled lists the sides that owe the end of their relation to their handlers, or will once a person has confirmed it.
func (c Census) Unhandled() []Side {
	return c.sorted(func(s Side) bool { return s.Owes() || s.Held() })
}

// Told lists the sides whose handlers receive the end if every relation ends.
func (c Census) Told() []Side {
	return c.sorted(func(s Side) bool {
		living := func(r Relation) bool { return r.UID == s.Relation && !r.Ended() }
		return s.Known && s.Teardown == nil && slices.ContainsFunc(c.Relations, living)
	})
}

// Deaf reports whether no unit is there that could handle the end that a side owes.
func (c Census) Deaf(s Side) bool { return len(Hearers(s.Here(), c.of(s.Here()))) == 0 }

// End returns the sides of a relation that have yet to take note of its end, with that end.
func (c Census) End(r Relation, now time.Time) []Side {
	var all []Side
	for _, s := range c.Sides {
		if s.Relation == r.UID && s.Teardown == nil {
			all = append(all, s.Ended(r, now, cmp.Or(r.State.EndReason, EndDeleted), c.of))
		}
	}
	return all
}

// of returns the units of an end.
func (c Census) of(e End) []application.Unit {
	return c.Units[End{Namespace: e.Namespace, Application: e.Application}]
}

func (c Census) sorted(is func(Side) bool) []Side {
	all := slices.DeleteFunc(slices.Clone(c.Sides), func(s Side) bool { return !is(s) })
	slices.SortFunc(all, func(a, b Side) int {
		return cmp.Or(strings.Compare(a.Here().Namespace, b.Here().Namespace), strings.Compare(a.Name(), b.Name()))
	})
	return all
}
