package negotiation

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// How many departures a relation remembers (SAFETY.md P2), and how many units are asked
// for each: they stand in one object.
const (
	mostDepartures = 64
	mostOwed       = 128
)

// departures are those that the relation shall remember, the last ones of too many:
// of units that were in scope, as long as handlers at the other end have yet to handle
// it, and for a while after (SAFETY.md E15, P2). A unit that is there again has not
// departed. Where no units are that could hear of it, there is nothing to remember.
//
// While the sides may not see each other, neither learns who is gone on the other: all
// have departed for all then (SAFETY.md M7).
func (n *negotiation) departures(r Relation) []conversation.Departure {
	if !r.Open() {
		return slices.DeleteFunc(slices.Clone(r.State.Departures), func(d conversation.Departure) bool { return !n.lasts(d) })
	}
	all := n.departuresFrom(r, r.Requirer, r.Provider)
	if !r.Peer() {
		all = append(all, n.departuresFrom(r, r.Provider, r.Requirer)...)
	}
	// What nobody could ever handle gives way to what somebody is owed.
	handled := func(d conversation.Departure) int {
		hearer := r.Provider
		if d.Unit == r.Unit(r.Provider, d.Unit.Number) {
			hearer = r.Requirer
		}
		if n.handles(hearer) {
			return 1
		}
		return 0
	}
	slices.SortFunc(all, func(a, b conversation.Departure) int {
		return cmp.Or(cmp.Compare(handled(a), handled(b)), a.Since.Compare(b.Since), a.Unit.Compare(b.Unit))
	})
	all = all[max(0, len(all)-mostDepartures):]
	slices.SortFunc(all, func(a, b conversation.Departure) int { return a.Unit.Compare(b.Unit) })
	return all
}

// Answered returns the departures after a unit has answered, and whether any is now
// another.
func Answered(all []conversation.Departure, by conversation.Unit, answers []conversation.Answer) (after []conversation.Departure, differs bool) {
	after = slices.Clone(all)
	for i, d := range all {
		for _, a := range answers {
			after[i] = after[i].Answered(by, a)
		}
		differs = differs || !reflect.DeepEqual(d, after[i])
	}
	return after, differs
}

// departedFrom is a unit that has departed from the relation of that UID, or of any if that
// is empty.
type departedFrom struct {
	relation string
	unit     conversation.Unit
}

// mourn notes the units whose departure a relation remembers, and whose bags in it are
// still needed.
func (n *negotiation) mourn(r Relation) {
	for _, d := range r.State.Departures {
		n.mourned[departedFrom{r.UID, d.Unit}] = true
		n.mourned[departedFrom{unit: d.Unit}] = true // from any relation
	}
}

// remembered returns the units of an application without those that departed over an hour
// ago and whose departure no relation remembers any more (SAFETY.md P2).
func (n *negotiation) remembered(name string) []application.Unit {
	if n.OptedOut {
		return n.units[name]
	}
	return slices.DeleteFunc(slices.Clone(n.units[name]), func(u application.Unit) bool {
		over := u.GoneSince.Add(application.Mourning)
		if u.Gone == "" || n.Now.Before(over) {
			if u.Gone != "" {
				n.wakeAt(over)
			}
			return false
		}
		here := conversation.Unit{Application: name, Number: u.Number}
		abroad := conversation.Unit{Application: name + "." + n.Namespace, Number: u.Number}
		return !n.mourned[departedFrom{unit: here}] && !n.mourned[departedFrom{unit: abroad}]
	})
}

// departuresFrom are those of the units of one end, owed to those of the other.
func (n *negotiation) departuresFrom(r Relation, e, hearer End) []conversation.Departure {
	if len(n.unitsOf(hearer)) == 0 {
		return nil
	}
	known := slices.DeleteFunc(slices.Clone(r.State.Departures), func(d conversation.Departure) bool {
		return d.Unit != r.Unit(e, d.Unit.Number) || n.lives(r, e, d.Unit)
	})
	for _, u := range n.unitsOf(e) {
		unit := r.Unit(e, u.Number)
		if hasLeft(r, u, n.Now) && !slices.ContainsFunc(known, func(d conversation.Departure) bool { return d.Unit == unit }) {
			known = append(known, conversation.Departure{
				Unit: unit, Reason: conversation.Reason(u.Gone), Address: u.Address, Since: u.GoneSince,
				Owed: n.hearers(r, hearer, unit), Handled: !n.handles(hearer),
			})
		}
	}
	var all []conversation.Departure
	for _, d := range known {
		d = d.Without(func(u conversation.Unit) bool { return !n.lives(r, hearer, u) })
		if d.Over() && d.OverSince.IsZero() {
			d.OverSince = n.Now
		}
		if n.lasts(d) {
			all = append(all, d)
		}
	}
	return all
}

// lasts reports whether a departure is still remembered.
func (n *negotiation) lasts(d conversation.Departure) bool {
	over := d.OverSince.Add(application.Mourning)
	if !d.OverSince.IsZero() && n.Now.Before(over) {
		n.wakeAt(over)
	}
	return d.OverSince.IsZero() || n.Now.Before(over)
}

// hasLeft reports whether somebody may have known the unit in the relation, and it
// went so lately that no memory of it is over yet.
func hasLeft(r Relation, u application.Unit, now time.Time) bool {
	return u.Gone != "" && u.Address != "" && r.Alive() && !u.GoneSince.Before(r.Created) && now.Before(u.GoneSince.Add(application.Mourning))
}

// hearers are the units of an end that have handlers.
func (n *negotiation) hearers(r Relation, e End, departed conversation.Unit) []conversation.Unit {
	var all []conversation.Unit
	for _, u := range n.unitsOf(e) {
		if unit := r.Unit(e, u.Number); u.Gone == "" && u.Handles && unit != departed {
			all = append(all, unit)
		}
	}
	return all[:min(len(all), mostOwed)]
}

// handles reports whether an end has handlers, or had when it last had units.
func (n *negotiation) handles(e End) bool {
	return slices.ContainsFunc(n.unitsOf(e), func(u application.Unit) bool { return u.Handles })
}

// lives reports whether a unit of an end is there, or will be again.
func (n *negotiation) lives(r Relation, e End, unit conversation.Unit) bool {
	return slices.ContainsFunc(n.unitsOf(e), func(u application.Unit) bool { return u.Gone == "" && r.Unit(e, u.Number) == unit })
}

// unitsOf returns the units of an end: here as they are, elsewhere as they are
// recorded.
func (n *negotiation) unitsOf(e End) []application.Unit {
	if e.Namespace == n.Namespace {
		return n.units[e.Application]
	}
	return n.record(e).State.Units
}

// spoken reports whether a bag of one relation may still be about something. It ends
// with its Relation, which owns it or is in another namespace; until then only the bag
// of a unit that has gone is of no use, once its departure is over and an hour has
// passed. A number that was never given here is unknown, not gone (SAFETY.md E13, M7,
// P2).
func (n *negotiation) spoken(b Databag) bool {
	unit := conversation.Unit{Application: b.Application}
	if b.Home.Namespace != "" {
		if !slices.ContainsFunc(n.Consumers, func(r Relation) bool { return r.UID == b.Relation }) {
			return false
		}
		unit.Application += "." + n.Namespace
	}
	number, err := strconv.Atoi(b.Unit)
	unit.Number = number
	if err != nil || number >= n.nextUnits[b.Application] || n.mourned[departedFrom{b.Relation, unit}] {
		return true
	}
	for _, u := range n.units[b.Application] {
		if u.Number == number {
			over := u.GoneSince.Add(application.Mourning)
			if u.Gone != "" && n.Now.Before(over) {
				n.wakeAt(over)
			}
			return u.Gone == "" || n.Now.Before(over)
		}
	}
	return false
}
