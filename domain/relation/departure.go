package relation

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// mostDepartures is how many departures a relation remembers (SAFETY.md P2).
const mostDepartures = 64

// departures are those that the relation shall remember, the last ones of too many:
// of units that were in scope, as long as handlers at the other end have yet to handle
// it, and for a while after (SAFETY.md E15, P2). A unit that is there again has not
// departed. Where no units are that could hear of it, there is nothing to remember.
func (n *negotiation) departures(r Relation) []conversation.Departure {
	var all []conversation.Departure
	for _, s := range r.sides() {
		if len(n.units[s.hearer]) > 0 {
			all = append(all, n.departuresTo(r, s)...)
		}
	}
	slices.SortFunc(all, func(a, b conversation.Departure) int { return cmp.Or(a.Since.Compare(b.Since), a.Unit.Compare(b.Unit)) })
	all = all[max(0, len(all)-mostDepartures):]
	slices.SortFunc(all, func(a, b conversation.Departure) int { return a.Unit.Compare(b.Unit) })
	return all
}

// Answer returns the departures after a unit has answered, and whether any is now
// another.
func Answer(all []conversation.Departure, by conversation.Unit, answers []conversation.Answer) (after []conversation.Departure, differs bool) {
	after = slices.Clone(all)
	for i, d := range all {
		for _, a := range answers {
			after[i] = after[i].Answered(by, a)
		}
		differs = differs || !reflect.DeepEqual(d, after[i])
	}
	return after, differs
}

// departedFrom is a unit that has departed from the relation of that UID.
type departedFrom struct {
	relation string
	unit     conversation.Unit
}

// side is an application of whose units departures are owed to another's, or among
// peers to its own.
type side struct{ departed, hearer string }

func (r Relation) sides() []side {
	sides := []side{{r.Requirer.Application, r.Provider.Application}}
	if !r.Peer() {
		sides = append(sides, side{r.Provider.Application, r.Requirer.Application})
	}
	return sides
}

func (n *negotiation) departuresTo(r Relation, s side) []conversation.Departure {
	known := slices.DeleteFunc(slices.Clone(r.State.Departures), func(d conversation.Departure) bool {
		return d.Unit.Application != s.departed || n.lives(d.Unit)
	})
	for _, u := range n.units[s.departed] {
		unit := conversation.Unit{Application: s.departed, Number: u.Number}
		if n.hasLeft(r, u) && !slices.ContainsFunc(known, func(d conversation.Departure) bool { return d.Unit == unit }) {
			known = append(known, conversation.Departure{
				Unit: unit, Reason: conversation.Reason(u.Gone), Address: u.Address, Since: u.GoneSince,
				Owed: n.hearers(s.hearer, unit), Handled: !n.handles(s.hearer),
			})
		}
	}
	var all []conversation.Departure
	for _, d := range known {
		d = d.Without(func(u conversation.Unit) bool { return !n.lives(u) })
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
func (n *negotiation) hasLeft(r Relation, u application.Unit) bool {
	return u.Gone != "" && u.Address != "" && r.Alive() && !u.GoneSince.Before(r.Created) && n.Now.Before(u.GoneSince.Add(application.Mourning))
}

// hearers are the units of an application that have handlers.
func (n *negotiation) hearers(name string, departed conversation.Unit) []conversation.Unit {
	var all []conversation.Unit
	for _, u := range n.units[name] {
		unit := conversation.Unit{Application: name, Number: u.Number}
		if u.Gone == "" && u.Handles && unit != departed {
			all = append(all, unit)
		}
	}
	return all
}

// handles reports whether an application has handlers, or had when it last had units.
func (n *negotiation) handles(name string) bool {
	return slices.ContainsFunc(n.units[name], func(u application.Unit) bool { return u.Handles })
}

// lives reports whether a unit is there, or will be again.
func (n *negotiation) lives(unit conversation.Unit) bool {
	return slices.ContainsFunc(n.units[unit.Application], func(u application.Unit) bool { return u.Gone == "" && u.Number == unit.Number })
}

// spoken reports whether a bag of one relation may still be about something. It
// ends with its Relation, which owns it; until then only the bag of a unit that has
// gone is of no use, once its departure is over and an hour has passed. A number that
// was never given here is unknown, not gone (SAFETY.md E13, P2).
func (n *negotiation) spoken(b Databag) bool {
	number, err := strconv.Atoi(b.Unit)
	if err != nil || number >= n.nextUnits[b.Application] || n.mourned[departedFrom{b.Relation, conversation.Unit{Application: b.Application, Number: number}}] {
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
