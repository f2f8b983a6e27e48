package negotiation

import (
	"fmt"
	"slices"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
)

// judged has the relations with their conditions and statuses.
type judged struct {
	relations relations
	wake      time.Time
}

// judge gives each relation its conditions and its status.
func judge(f *facts, u units, c contents, l lives, made limited) judged {
	j := judging{facts: f, units: u, contents: c, lives: l, limits: limits{f, &made.relations}}
	all := slices.Clone(made.relations.all)
	violated := violations(c, all)
	is := judged{}
	for i, r := range all {
		if kept, unjudged := j.unjudged(r); unjudged {
			all[i].State = kept
			continue
		}
		var wake time.Time
		all[i].State, wake = j.state(i, r, violated[i])
		is.wake = soonest(is.wake, wake)
	}
	is.relations = made.relations.with(all)
	return is
}

// judging has what a relation is judged by.
type judging struct {
	*facts
	units    units
	contents contents
	lives    lives
	limits   limits
}

// unjudged returns the state of a relation that depends on something unreadable, and whether it
// does. It is as it was; a relation that has no conditions yet names the object.
func (j judging) unjudged(r relation.Relation) (relation.State, bool) {
	one, frozen := j.unreadable.under(r)
	holder, held := j.unreadable.numbering()
	if side, unknown := j.unreadable.pairs.pair(r.Key); unknown && r.State.ID == 0 {
		one, frozen = side, true
	}
	switch {
	case j.unreadable.relation(r):
	case held && r.State.ID == 0:
		r.State.Conditions = condition.Stuck(relation.ReasonUnreadable, j.unreadable.unnumbered(holder))
		r.State.Status, r.State.Data = relation.Failed, relation.DataMissing
		return r.State, true
	case frozen && (len(r.State.Conditions) == 0 || r.State.ID == 0):
		r.State.Conditions = j.unreadable.conditions(one)
		r.State.Status, r.State.Data = relation.Failed, relation.DataMissing
	case one.Kind == relation.KindSide: // which has no conditions
		r.State.Conditions = j.unreadable.beside(one, r.State.Conditions)
	}
	return r.State, frozen
}

// state returns the state of the relation at a place with its conditions, whether its data
// is complete, and its status, so that none contradicts another: Ready is true only while
// the relation works, and its reason is Complete only where nothing else is to be known.
func (j judging) state(i int, r relation.Relation, violated []condition.Condition) (relation.State, time.Time) {
	cs, failing, held := j.standing(r), j.failingIn(r), j.lives.held(j.directory, j.Snapshot, i, r)
	r.State.Data = relation.DataMissing
	if ready, _ := condition.Find(cs, condition.Ready); ready.True {
		r.State.Data = relation.DataComplete
		cs = j.qualified(r, cs, held, violated)
	}
	if len(failing) > 0 && j.works(r) {
		text := "a handler fails: see condition HandlerFailed"
		if why := condition.Why(cs); !why.True {
			text += "; " + why.Message
		}
		cs = condition.Waiting(string(condition.HandlerFailed), text)
	}
	r.State.Conditions = condition.With(cs, slices.Concat(held, violated, failing, sideStatuses(r))...)
	var wake time.Time
	r.State.Status, wake = j.status(r)
	return r.State, wake
}

// status derives a relation's status from its life, and from nothing that comes and goes with units: a provider that
// starts anew changes none of ten thousand relations (SAFETY.md D12).
func (j judging) status(r relation.Relation) (is relation.Status, wake time.Time) {
	ready, _ := condition.Find(r.State.Conditions, condition.Ready)
	switch {
	case !r.Alive():
		return relation.Broken, time.Time{}
	case !r.Open() && r.Opened():
		return j.suspension(r)
	case condition.Blocked(r.State.Conditions) || ready.Reason == string(condition.HandlerFailed):
		return relation.Failed, time.Time{}
	case j.units.present(r.Requirer, true) && j.units.present(r.Provider, false):
		return relation.Joined, time.Time{}
	default:
		return relation.Joining, time.Time{}
	}
}

// suspension tells whether handlers have yet to handle a suspension, for as long as they
// may take to handle an end (RELATIONS.md L3, L4).
func (j judging) suspension(r relation.Relation) (is relation.Status, wake time.Time) {
	over := r.State.SuspendedSince.Add(handling)
	if !j.Now.Before(over) || len(endings{j.units}.blocking(r, r.State.Closed)) == 0 {
		return relation.Suspended, time.Time{}
	}
	return relation.Suspending, over
}

// sideStatuses returns the statuses that the sides report in a relation.
func sideStatuses(r relation.Relation) []condition.Condition {
	return slices.Concat(said(condition.RequirerStatus, r.State.RequirerStatus), said(condition.ProviderStatus, r.State.ProviderStatus))
}

// said is a status as a condition, which is true where it is active; none where
// nothing was said.
func said(t condition.Type, info status.Info) []condition.Condition {
	if !info.Said() {
		return nil
	}
	return []condition.Condition{condition.New(t, info.State == status.Active, info.Reason(), info.Text())}
}

// stumble is a unit whose handlers fail.
type stumble struct {
	unit string
	application.Unit
}

// failingIn names the units of both sides whose handlers fail at an event of a
// relation.
func (j judging) failingIn(r relation.Relation) []condition.Condition {
	var all []stumble
	for _, e := range r.Ends() {
		if e.Namespace == j.Namespace {
			all = append(all, stumbles(e.Application, j.record(e).State.Units)...)
		}
	}
	return handlerFailed(j.Namespace, slices.DeleteFunc(all, func(s stumble) bool { return s.Failing.Relation != r.UID }))
}

// stumbles lists the units of an application whose handlers fail.
func stumbles(name string, units []application.Unit) []stumble {
	var all []stumble
	for _, u := range units {
		if u.Failing.Fails() {
			all = append(all, stumble{fmt.Sprintf("%s/%d", name, u.Number), u})
		}
	}
	return all
}

// handlerFailed tells of the first failure in full, and that there are others: a
// fault in a handler is in that of each unit, and a hundred that begin to fail one
// after the other are one piece of news.
func handlerFailed(namespace string, all []stumble) []condition.Condition {
	if len(all) == 0 {
		return nil
	}
	message := all[0].Failing.Text(namespace, all[0].unit, all[0].Pod)
	if len(all) > 1 {
		message += "; handlers of other units fail too: see status.units[].failing of their RelatedApplication"
	}
	return []condition.Condition{condition.New(condition.HandlerFailed, true, string(condition.HandlerFailed), message)}
}
