package conversation_test

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/history"
)

// world is what the controllers have stored: units of three applications, what
// relates them, and what they say. Bags are replaced and never changed, so that
// snapshots may share them.
type world struct {
	// revision counts what happened.
	revision int
	units    map[conversation.Unit]*pod
	leaders  map[string]conversation.Unit
	terms    map[string]int64
	// batch asks for first joins as one event.
	batch bool
	// related is how many relations there ever were.
	related   int
	relations []*link
	// agents are the processes and what is left of their memories, by unit.
	agents map[conversation.Unit]*agent
	// acted are the ends that an application has handled, as handledEnd names them, and unheard those that
	// were buried although it had not.
	acted   map[string]bool
	unheard []string
	// contents are those of all bags that there ever were.
	contents conversation.BagMap
}

// pod is a unit that is there, and why it is ending.
type pod struct{ leaving conversation.Reason }

// link is a relation between two applications, or among the units of one.
type link struct {
	uid                string
	id                 int
	requirer, provider string
	life               conversation.Life
	bags               map[conversation.Address]conversation.Bag
	writers            map[string]conversation.Unit
	// departed are the departures of units, by unit.
	departed map[conversation.Unit]conversation.Departure
	// owed are the debts of its end, by application.
	owed map[string]conversation.Debt
	// ends is when something ended here last.
	ends    int
	records map[conversation.Address]history.Log
}

func unit(text string) conversation.Unit {
	u, err := conversation.ParseUnit(text)
	if err != nil {
		panic(err)
	}
	return u
}

// epoch is when every history begins.
func epoch() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// now is another time whenever something has happened.
func (w *world) now() time.Time { return epoch().Add(time.Duration(w.revision) * time.Second) }

// secret is the field whose values no record may hold.
const secret = "password"

func newWorld() *world {
	w := &world{
		units: map[conversation.Unit]*pod{}, leaders: map[string]conversation.Unit{}, terms: map[string]int64{},
		agents: map[conversation.Unit]*agent{}, acted: map[string]bool{}, contents: conversation.BagMap{},
	}
	w.relate("db")
	w.relate("cache")
	w.relate("web")
	for _, u := range []string{"web/0", "web/1", "db/0"} {
		w.arrive(unit(u))
	}
	return w
}

// relate relates web to an application, or its own units, with an id and a UID of
// its own, also where the last relation is gone: a UID never comes back.
func (w *world) relate(provider string) {
	w.related++
	id := w.related
	w.relations = append(w.relations, &link{
		uid: "uid-" + string(rune('a'+id)), id: id, requirer: "web", provider: provider, life: conversation.Alive,
		bags: map[conversation.Address]conversation.Bag{}, records: map[conversation.Address]history.Log{}, writers: map[string]conversation.Unit{},
		departed: map[conversation.Unit]conversation.Departure{}, owed: map[string]conversation.Debt{},
	})
	w.revision++
}

func (l *link) peer() bool { return l.requirer == l.provider }

func (l *link) has(application string) bool {
	return l.requirer == application || l.provider == application
}

// other is the application at the other end.
func (l *link) other(application string) string {
	if l.requirer == application {
		return l.provider
	}
	return l.requirer
}

// arrive makes a unit, or one that was there before.
func (w *world) arrive(u conversation.Unit) {
	w.units[u] = &pod{}
	for _, l := range w.relations {
		delete(l.departed, u)
	}
	if a, ok := w.agents[u]; ok {
		a.restart()
	} else {
		w.agents[u] = newAgent(u, w.acted)
	}
	w.revision++
	w.agents[u].used = w.revision // a replica that does not know the pod does not serve it
	w.elect()
}

// end ends a relation for good.
func (w *world) end(l *link) {
	l.life, l.ends = conversation.Ending, w.revision+1
	for _, application := range []string{l.requirer, l.provider} {
		l.owed[application] = conversation.Debt{Owed: w.remembering(application)}
	}
}

// depart ends a unit for good. A StatefulSet's memory, that of db, is kept.
func (w *world) depart(u conversation.Unit, reason conversation.Reason) {
	delete(w.units, u)
	for _, l := range w.relations {
		if l.has(u.Application) {
			l.departed[u] = conversation.Departure{Unit: u, Reason: reason, Since: w.now(), Debt: conversation.Debt{Owed: w.hearers(l, u)}}
		}
	}
	if u.Application != "db" {
		delete(w.agents, u)
	}
	w.revision++
	for _, l := range w.relations {
		if l.has(u.Application) {
			l.ends = w.revision
		}
	}
	w.elect()
}

// elect gives each application without a leader the first of its units.
func (w *world) elect() {
	for _, application := range applications() {
		led := w.leaders[application]
		if p := w.units[led]; p != nil && p.leaving == "" {
			continue
		}
		delete(w.leaders, application)
		for _, u := range w.of(application) {
			if w.units[u].leaving == "" {
				w.lead(u)
				break
			}
		}
	}
}

// lead makes a unit the leader, in a new term.
func (w *world) lead(u conversation.Unit) {
	w.leaders[u.Application] = u
	w.terms[u.Application]++
	w.revision++
}

func applications() []string { return []string{"web", "db", "cache"} }

// of returns the units of an application, in order.
func (w *world) of(application string) []conversation.Unit {
	var all []conversation.Unit
	for u := range w.units {
		if u.Application == application {
			all = append(all, u)
		}
	}
	slices.SortFunc(all, conversation.Unit.Compare)
	return all
}

// everybody returns all units, in order.
func (w *world) everybody() []conversation.Unit {
	return slices.SortedFunc(maps.Keys(w.units), conversation.Unit.Compare)
}

// store commits what a unit changed, as the store does: it admits a leader only in
// its term, nobody after the end, and keeps a record.
func (w *world) store(u conversation.Unit, changes []conversation.Change, cause string) {
	for _, c := range changes {
		l := w.link(c.Relation)
		_, isUnit := c.Unit()
		if l == nil || l.life != conversation.Alive || !isUnit && w.leaders[u.Application] != u {
			continue
		}
		was := l.bags[c.Address]
		is := c.Apply(was)
		e := history.Entry{Time: w.now(), Who: u.String(), Cause: cause, Address: c.Address}
		l.records[c.Address] = l.records[c.Address].Append(e, was, is, []string{secret})
		l.bags[c.Address] = is
		if !isUnit {
			l.writers[u.Application] = u
		}
		w.revision++
	}
}

func (w *world) link(uid string) *link {
	for _, l := range w.relations {
		if l.uid == uid {
			return l
		}
	}
	return nil
}

// bury drops tombstones and ended relations that are owed no more. Both wait until no unit
// acts on what was before the end, as the hour more of SAFETY.md P2 does.
func (w *world) bury() {
	for _, l := range w.relations {
		if w.behind(l) {
			continue
		}
		for u, d := range l.departed {
			was := d
			for listener, a := range w.agents {
				for _, answer := range a.saved().Answers(a.shown)[l.uid] {
					d = d.Answered(listener, answer)
				}
			}
			if d = d.Without(func(u conversation.Unit) bool { return w.agents[u] == nil }); d.Over() {
				delete(l.departed, u)
				w.revision++
			} else if !reflect.DeepEqual(d, was) {
				l.departed[u] = d
				w.revision++
			}
		}
	}
	w.relations = slices.DeleteFunc(w.relations, func(l *link) bool {
		return l.life == conversation.Ending && !w.behind(l) && w.paysTheEnd(l)
	})
}

// paysTheEnd takes note of the units that have handled the end of a relation, and reports whether it is owed no more.
func (w *world) paysTheEnd(l *link) bool {
	over := true
	for application, was := range l.owed {
		d := was.Without(func(u conversation.Unit) bool { return w.agents[u] == nil })
		for listener, a := range w.agents {
			for _, answer := range a.saved().Ends(a.shown) {
				if listener.Application == application && answer.Relation == l.uid {
					d = d.Answered(listener, answer.Handled)
				}
			}
		}
		if !reflect.DeepEqual(d, was) {
			l.owed[application] = d
			w.revision++
		}
		over = over && d.Over()
		if d.Over() && !w.acted[handledEnd(l.uid, application)] {
			w.unheard = append(w.unheard, handledEnd(l.uid, application))
		}
	}
	return over
}

// handledEnd names the end of a relation as an application has handled it.
func handledEnd(uid, application string) string { return uid + " by " + application }

// behind reports whether some unit has not seen the last end in a relation.
func (w *world) behind(l *link) bool {
	for u := range w.units {
		if l.has(u.Application) && w.agents[u].used < l.ends {
			return true
		}
	}
	return false
}

// hearers are the units at the other end of one, and those of which a memory is
// left.
func (w *world) hearers(l *link, departed conversation.Unit) []conversation.Unit {
	all := w.remembering(l.other(departed.Application))
	return slices.DeleteFunc(all, func(u conversation.Unit) bool { return u == departed })
}

// remembering returns the units of an application and those that left a memory, in order.
func (w *world) remembering(application string) []conversation.Unit {
	var all []conversation.Unit
	for u := range w.agents {
		if u.Application == application {
			all = append(all, u)
		}
	}
	slices.SortFunc(all, conversation.Unit.Compare)
	return all
}

// snapshot is all that a unit may know now.
func (w *world) snapshot(u conversation.Unit) conversation.Snapshot {
	s := conversation.Snapshot{Unit: u, Leader: w.leaders[u.Application] == u, Batch: w.batch, Bags: w.contents}
	if s.Leader {
		s.Term = w.terms[u.Application]
	}
	if p := w.units[u]; p != nil {
		s.Leaving = p.leaving
	}
	for _, l := range w.relations {
		if l.has(u.Application) {
			s.Relations = append(s.Relations, w.view(l, u))
		}
	}
	return s
}

// said refers to a bag of a relation as it is now.
func (w *world) said(l *link, at conversation.Address) databag.Ref { return w.contents.Put(l.bags[at]) }

// view is one relation as a unit sees it.
func (w *world) view(l *link, u conversation.Unit) conversation.Relation {
	remote := l.other(u.Application)
	r := conversation.Relation{
		UID: l.uid, ID: l.id, Endpoint: "to-" + remote, Interface: "any", Remote: remote, Life: l.life, Role: application.Provider,
		OwnBag:               w.said(l, conversation.ForUnit(l.uid, u)),
		OwnApplicationBag:    w.said(l, conversation.ForApplication(l.uid, u.Application)),
		OwnApplicationWriter: l.writers[u.Application],
	}
	switch {
	case l.peer():
		r.Role = application.Peer
	case l.requirer == u.Application:
		r.Role = application.Requirer
	}
	if !l.peer() {
		r.RemoteBag = w.said(l, conversation.ForApplication(l.uid, remote))
	}
	switch l.life {
	case conversation.Ending:
		r.Final, r.EndReason, r.End = true, conversation.RelationRemoved, l.owed[u.Application].Owing()
	case conversation.Suspended:
		r.EndReason = conversation.SuspendedReason
	case conversation.Alive:
	}
	for _, other := range w.of(remote) {
		if other != u {
			r.Units = append(r.Units, conversation.Member{Unit: other, Bag: w.said(l, conversation.ForUnit(l.uid, other))})
		}
	}
	for _, d := range l.departed {
		if d.Unit.Application == remote && d.Unit != u {
			r.Departed = append(r.Departed, conversation.Tombstone{
				Unit: d.Unit, Reason: d.Reason, Since: d.Since, Bag: w.said(l, conversation.ForUnit(l.uid, d.Unit)),
				Owing: d.Owing(),
			})
		}
	}
	slices.SortFunc(r.Departed, func(a, b conversation.Tombstone) int { return a.Unit.Compare(b.Unit) })
	return r
}
