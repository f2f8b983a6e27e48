package negotiation

import (
	"maps"
	"slices"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// Negotiate returns what must happen for s to be settled, ordered so that equal
// snapshots always give equal decisions, whatever the order of their lists: ends
// first, then data, applications, relations, and last the removal of bags that are needed no
// more. wake is when to look again although nothing changes; zero for never.
//
// In a namespace that is ending nothing can be made any more, and all goes by
// itself: its relations end, are released as soon as other namespaces have
// handled that, and nothing else is done.
func Negotiate(s relation.Snapshot) (decisions []relation.Decision, wake time.Time) {
	var succeeded []relation.Relation
	s.Relations, succeeded = relation.Current(s.Relations)
	s.Consumers, _ = relation.Current(s.Consumers)
	f := index(s)
	units := number(f)
	found := settlement{succeeded: succeeded, matching: match(f), shelves: shelves{f.Namespace, f.Databags, f.sides}}
	found.lives = live(f, units, found.matching)
	found.limited = limit(f, found.matching, found.lives)
	contents := contents{f, grant(f, found.limited.relations)}
	found.judged = judge(f, units, contents, found.lives, found.limited)
	wake = soonest(units.overdueAt, found.lives.wake, contents.wake, found.judged.wake)
	if f.Ending {
		return slices.Concat(found.releases(), found.ends()), wake
	}
	ignored := ignore(f)
	found.upkeep = keep(units, found.lives, found.judged.relations)
	found.copies = copiesOf(contents, found.judged.relations)
	found.recorded = record(standings{
		facts: f, units: units, contents: contents, relations: found.judged.relations, sides: found.upkeep.all, ends: found.upkeep.recent,
		copies:  found.copies,
		ignored: ignored.faults, obstacles: found.obstacles(),
	})
	found.offers = offers{f}.answers()
	found.retained = retain(units, found.judged.relations)
	return difference(f, found), soonest(wake, ignored.wake, found.upkeep.wake, found.recorded.wake, found.retained.wake,
		found.copies.wake(f.Now))
}

// obstacles joins why references lead nowhere, by application, in the order in which the
// stages found it.
func (s settlement) obstacles() map[string][]relation.Obstacle {
	all := maps.Clone(s.matching.obstacles)
	for name, more := range s.lives.obstacles {
		all[name] = slices.Concat(all[name], more)
	}
	for _, r := range s.matching.refused {
		if r.Deleted.IsZero() && r.Requirer != r.Provider {
			all[r.Requirer.Application] = append(slices.Clip(all[r.Requirer.Application]), r.obstacle())
		}
	}
	for name, more := range s.limited.obstacles {
		all[name] = slices.Concat(all[name], more)
	}
	return all
}

// soonest returns the first of several times to look again. Zero means never.
func soonest(times ...time.Time) time.Time {
	var first time.Time
	for _, t := range times {
		if first.IsZero() || !t.IsZero() && t.Before(first) {
			first = t
		}
	}
	return first
}
