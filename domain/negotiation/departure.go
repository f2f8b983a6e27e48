package negotiation

import (
	"cmp"
	"slices"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// mostDepartures is how many departures a relation remembers (SAFETY.md P2): they stand in one object.
const mostDepartures = 64

// departures returns those that the relation remembers, the last ones of too many: of units that were in scope, as
// long as handlers at the other end have yet to handle it, and for a while after (SAFETY.md E15, P2); and as long as the
// record of its application has the unit, whose departure would be found again. A unit that is
// there again has not departed. If no unit of the other end can have known the departed one, there is nothing more to
// remember, and what is owed already stays. wake is when the first is forgotten.
//
// While the sides may not see each other, neither learns which units of the other are gone: to each
// side all of them have departed (SAFETY.md M7).
func (u units) departures(r relation.Relation) (all []conversation.Departure, wake time.Time) {
	if !r.Open() {
		all = slices.DeleteFunc(slices.Clone(r.State.Departures), func(d conversation.Departure) bool { return !u.keeps(r, d) })
		return all, fades(all, u.Now)
	}
	all = u.departuresFrom(r, r.Requirer, r.Provider)
	if !r.Peer() {
		all = append(all, u.departuresFrom(r, r.Provider, r.Requirer)...)
	}
	wake = fades(all, u.Now)
	// A departure that no unit can handle gives way to one that a unit is owed, and one that is over for long to any other.
	handled := func(d conversation.Departure) int {
		if !lasts(d, u.Now) {
			return -1
		}
		hearer := r.Provider
		if d.Unit == r.Unit(r.Provider, d.Unit.Number) {
			hearer = r.Requirer
		}
		if u.handles(hearer) || d.Inherited() {
			return 1
		}
		return 0
	}
	slices.SortFunc(all, func(a, b conversation.Departure) int {
		return cmp.Or(cmp.Compare(handled(a), handled(b)), a.Since.Compare(b.Since), a.Unit.Compare(b.Unit))
	})
	all = all[max(0, len(all)-mostDepartures):]
	slices.SortFunc(all, func(a, b conversation.Departure) int { return a.Unit.Compare(b.Unit) })
	return all, wake
}

// departuresFrom lists those of the units of one end, owed to those of the other. The controller may have been away for long
// before it notes them; where there is no room for all, it notes none again that it has left out. A unit of another namespace
// is noted also if no unit may have known it: until then its record has it.
func (u units) departuresFrom(r relation.Relation, e, hearer relation.End) []conversation.Departure {
	known := slices.DeleteFunc(slices.Clone(r.State.Departures), func(d conversation.Departure) bool {
		return d.Unit != r.Unit(e, d.Unit.Number) || u.there(r, e, d.Unit)
	})
	for _, gone := range u.of(e) {
		unit := r.Unit(e, gone.Number)
		met := u.met(hearer, gone)
		due := len(r.State.Departures) < mostDepartures || u.Now.Before(gone.GoneSince.Add(application.Mourning))
		if due && hasLeft(r, gone) && !notes(known, unit) && (met || e.Namespace != u.Namespace) {
			known = append(known, conversation.Departure{
				Unit: unit, Reason: conversation.Reason(gone.Gone), Address: gone.Address, Since: gone.GoneSince,
				Debt: conversation.Debt{Owed: u.hearers(r, hearer, unit), Handled: !met || !u.handles(hearer)},
			})
		}
	}
	var all []conversation.Departure
	for _, d := range known {
		d = d.Without(func(unit conversation.Unit) bool { return !u.mayAnswer(hearer, unit.Number) })
		if d.Over() && d.OverSince.IsZero() {
			d.OverSince = u.Now
		}
		if u.keeps(r, d) {
			all = append(all, d)
		}
	}
	return all
}

// notes reports whether the departure of a unit is among those.
func notes(all []conversation.Departure, unit conversation.Unit) bool {
	return slices.ContainsFunc(all, func(d conversation.Departure) bool { return d.Unit == unit })
}

// met reports whether a unit of an end may have known a unit of the other one: it lives, or that was made no more than an
// hour after it had gone, since clocks differ. Units that are forgotten went before the end was vacant.
func (u units) met(hearer relation.End, other application.Unit) bool {
	before := func(gone time.Time) bool { return !gone.IsZero() && !other.Since.After(gone.Add(application.Mourning)) }
	return before(u.record(hearer).State.Vacant) ||
		slices.ContainsFunc(u.of(hearer), func(unit application.Unit) bool { return unit.Gone == "" || before(unit.GoneSince) })
}

// keeps reports whether a relation keeps a departure.
func (u units) keeps(r relation.Relation, d conversation.Departure) bool {
	return lasts(d, u.Now) || slices.ContainsFunc(r.Ends(), func(e relation.End) bool {
		return slices.ContainsFunc(u.of(e), func(unit application.Unit) bool { return unit.Gone != "" && r.Unit(e, unit.Number) == d.Unit })
	})
}

// lasts reports whether a departure is owed, or was within the hour.
func lasts(d conversation.Departure, now time.Time) bool {
	return d.OverSince.IsZero() || now.Before(d.OverSince.Add(application.Mourning))
}

// fades returns when the first of several departures lasts no more; zero if none that lasts is over.
func fades(all []conversation.Departure, now time.Time) time.Time {
	var first time.Time
	for _, d := range all {
		if !d.OverSince.IsZero() && lasts(d, now) {
			first = soonest(first, d.OverSince.Add(application.Mourning))
		}
	}
	return first
}

// hasLeft reports whether a unit that is gone was in scope of the relation, which lives: a unit of the other end may have
// known it there. Times are stored in seconds: a unit that went in the second in which the relation began may have been known.
func hasLeft(r relation.Relation, u application.Unit) bool {
	made := !r.Created.IsZero() // by an earlier look
	return made && u.Gone != "" && u.Address != "" && r.Alive() && !u.GoneSince.Before(cmp.Or(r.State.Began, r.Created))
}
