package negotiation

import (
	"fmt"
	"slices"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// As many relations of a namespace end by themselves at once, and as large a part of
// them, as one over so many; of more a person has to say so (SAFETY.md L6). What ends
// within a while ends at once: manifests are not deleted in one second.
const (
	mostEnds = 5
	endsPart = 5
	atOnce   = time.Hour
)

// lives holds the lives of the admitted relations, without their conditions.
type lives struct {
	// relations are in the states that this look gives them.
	relations relations
	// released has those that are dead, by place, as they end.
	released map[int]relation.Relation
	// full has the limits that keep relations held, by place.
	full map[int]string
	// manyEnd is set where so many relations would end now that a person must agree.
	manyEnd bool
	// obstacles has why declared relations stay held, by application.
	obstacles map[string][]relation.Obstacle
	// refused has the manual relations that cannot be. One of them may take the place of a held one.
	refused []refusal
	// lastID is the highest id that was ever given.
	lastID int
	wake   time.Time
}

// live gives each relation, oldest first, the state that its Offers, its end, its
// declaration and its units leave it. A limit counts the others as they are by then.
func live(f *facts, u units, m matching) lives {
	l := living{u, lives{
		relations: m.relations.with(slices.Clone(m.relations.all)), manyEnd: tooManyEnd(f.Now, m.relations), refused: m.refused,
		released: map[int]relation.Relation{}, full: map[int]string{}, obstacles: map[string][]relation.Obstacle{}, lastID: f.LastRelation,
	}}
	for _, r := range f.Relations {
		l.lastID = max(l.lastID, r.State.ID)
	}
	for _, one := range f.Sides {
		l.lastID = max(l.lastID, one.ID)
	}
	for i, r := range m.relations.all {
		l.settle(i, r)
	}
	return l.lives
}

// living is a run of live.
type living struct {
	units
	lives
}

// settle gives the relation at a place its state.
func (l *living) settle(i int, r relation.Relation) {
	if l.unreadable.freezes(r) {
		l.freeze(i, r)
		return
	}
	if r.State.Status == "" && r.Declared {
		// A crash came between the object and its first status, or a restore
		// without it: it must not end because its retention is not known.
		r.State.Retain = l.retention(r.Key)
	}
	r, released, dead := endings{l.units}.teardown(offers{l.facts}.consent(r))
	if released {
		l.released[i] = r
	}
	r, over := l.hold(i, r)
	departures, faded := l.departures(r)
	r.State.Departures = departures
	if !released {
		r = l.identified(r)
	}
	l.relations.all[i] = r
	l.wake = soonest(l.wake, dead, over, faded)
}

// freeze leaves a relation as it is, but for its end if a person deletes it, and for its first id.
func (l *living) freeze(i int, r relation.Relation) {
	ended, released, dead := endings{l.units}.teardown(r)
	if released {
		l.released[i] = ended
	} else {
		r = l.identified(r)
	}
	l.relations.all[i] = r
	l.wake = soonest(l.wake, dead)
}

// identified returns a relation with an id, unless an unreadable object may hold a higher one, or the end of an
// earlier relation of the pair is owed, or may be.
func (l *living) identified(r relation.Relation) relation.Relation {
	_, held := l.unreadable.numbering()
	_, owed := l.sides.owing(r.Key)
	_, unknown := l.unreadable.pairs.pair(r.Key)
	if r.State.ID > 0 || held || owed || unknown {
		return r
	}
	if r.State.ID = l.sides.known(r.Key, l.Namespace); r.State.ID == 0 {
		l.lastID++
		r.State.ID = l.lastID
	}
	r.State.Began = l.Now
	return r
}

// hold returns a relation held if its declaration has vanished, going on if the
// declaration is back and its place is free, and ended when its time is over
// (SAFETY.md L5). While it is declared and another relation has its place, it stays held
// and its time does not run (RELATIONS.md M3).
func (l *living) hold(i int, r relation.Relation) (after relation.Relation, wake time.Time) {
	declared := l.relations.declared[i]
	full := ""
	if r.Held() && declared {
		full = limits{l.facts, &l.relations}.full(r.Key)
	}
	switch {
	case !r.Alive() || !r.Declared:
	case full != "":
		r.State.HeldReason = relation.ReasonLimit
		name := r.Requirer.Application
		l.full[i], l.obstacles[name] = full, append(l.obstacles[name], overLimit(r.Key, full))
	case declared:
		r.State.HeldSince, r.State.HeldReason = time.Time{}, ""
		r.State.Retain = l.retention(r.Key)
	case !r.Held() || r.State.HeldReason == relation.ReasonLimit:
		r.State.HeldSince, r.State.HeldReason = l.Now, relation.ReasonDeclarationGone
		return r, relation.HeldUntil(r.State)
	case l.Now.Before(relation.HeldUntil(r.State)):
		return r, relation.HeldUntil(r.State)
	case !l.manyEnd:
		r.State.EndReason, r.State.EndedSince = relation.ReasonDeclarationGone, l.Now
	}
	return r, time.Time{}
}

// tooManyEnd reports whether more relations would end at once than may without a
// person: what declared them all was rather lost than removed from each.
func tooManyEnd(now time.Time, all relations) bool {
	living, ends := 0, 0
	for i, r := range all.all {
		if !r.Alive() {
			continue
		}
		living++
		if r.Declared && !all.declared[i] && r.Held() && !now.Add(atOnce).Before(relation.HeldUntil(r.State)) {
			ends++
		}
	}
	return ends > mostEnds && ends*endsPart > living
}

// held returns why the relation at a place is held, and what comes of it.
func (l *lives) held(d directory, s relation.Snapshot, i int, r relation.Relation) []condition.Condition {
	if !r.Held() || r.State.EndReason != "" {
		return nil
	}
	until := relation.HeldUntil(r.State).UTC().Format(time.RFC3339)
	why, again := whyUndeclared(d, s, r)
	reason, message := relation.ReasonDeclarationGone, fmt.Sprintf("%s: %s, or %s: kubectl -n %s delete relation %s",
		why, again, l.comesOf(r, until), s.Namespace, r.Name)
	switch {
	case r.State.HeldReason == relation.ReasonLimit:
		reason = relation.ReasonLimit
		message = "the relation is declared again, but " + l.full[i]
	case l.manyEnd && !s.Now.Before(relation.HeldUntil(r.State)):
		reason = relation.ReasonConfirm
		message = fmt.Sprintf("%s and its time is over, but too many relations of this namespace would end at once: %s, or end it: "+
			"kubectl -n %s delete relation %s", why, again, s.Namespace, r.Name)
	}
	return []condition.Condition{condition.New(condition.Held, true, reason, message)}
}

// whyUndeclared returns why nothing declares a relation any more, and what declares it again.
func whyUndeclared(d directory, s relation.Snapshot, r relation.Relation) (why, cure string) {
	for _, e := range r.Ends() {
		pod := s.Ended[e.Application]
		if e.Namespace == s.Namespace && pod != "" && !d.apps[e.Application].TakesPart() {
			return fmt.Sprintf("pod %s has ended, and nothing else declares the relation", pod), "delete it and create it again"
		}
	}
	if now := d.siteOf(r.Requirer).Interface; now != "" && now != r.Interface && now == d.siteOf(r.Provider).Interface {
		why = fmt.Sprintf("the relation has interface %s, and both ends have %s now", r.Interface, now)
		return why, "declare it with " + r.Interface + " again"
	}
	return "nothing declares the relation any more", "declare it again"
}

// comesOf returns what becomes of a held relation at a time, and introduces the command that brings it about now.
func (l *lives) comesOf(r relation.Relation, until string) string {
	for _, other := range l.refused {
		if other.Key == r.Key && other.Reason == relation.ReasonRelated && sameTerms(r, other.Relation) {
			return fmt.Sprintf("Relation %s goes on in its place at %s; to have that now", other.Name, until)
		}
	}
	return fmt.Sprintf("it ends at %s; to end it now", until)
}
