package negotiation

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// units has the units of each application, each pod with its number.
type units struct {
	*facts
	numbered map[string][]application.Unit
	// next is the first number of each application that was never given.
	next map[string]int
	// overdueAt is when the first pod that still ends is overdue; zero for never.
	overdueAt time.Time
}

// number gives each pod its unit. Objects of a namespace that has not opted in are not looked at, and all units are
// as they were (SAFETY.md E13).
func number(f *facts) units {
	u := units{facts: f, numbered: map[string][]application.Unit{}, next: map[string]int{}}
	for _, r := range f.Records {
		u.numbered[r.Name], u.next[r.Name] = r.State.Units, r.State.NextUnit
		if _, there := f.apps[r.Name]; !there && !f.OptedOut {
			gone := u.withStrays(application.Application{Name: r.Name}, r.State.Units)
			u.numbered[r.Name], u.next[r.Name] = application.Number(gone, r.State.Units, r.State.NextUnit, f.Now)
		}
	}
	for name, a := range f.apps {
		was := f.record(f.here(name, "")).State
		known, next := f.found(a, was)
		u.numbered[name], u.next[name] = application.Number(u.withStrays(a, known), known, next, f.Now)
	}
	return u
}

// found returns the recorded units of an application, and its next number. Before the first pod of a record gets a
// number, units come back that have written, with their pods or as gone: a record that was lost would give their numbers
// again (TRUST.md T5).
func (f *facts) found(a application.Application, was relation.ApplicationState) (known []application.Unit, next int) {
	pods := map[string]application.Pod{}
	for _, p := range a.Pods {
		if p.Injected {
			pods[p.UID] = p
		}
	}
	if was.NextUnit > 0 || len(pods) == 0 {
		return was.Units, was.NextUnit
	}
	writers := f.writers(a.Name)
	for _, number := range slices.Backward(slices.Sorted(maps.Keys(writers))) { // a pod has the last of its numbers
		unit := application.Unit{Number: number, Gone: application.GoneReplaced, GoneSince: f.Now}
		for _, uid := range writers[number] {
			if pod, lives := pods[uid]; lives {
				unit = application.Unit{Number: number, Pod: pod.Name, PodUID: uid, Since: pod.Created,
					Handles: application.HearsOfEvents(pod.Annotations)}
				delete(pods, uid)
			}
		}
		known, next = append(known, unit), max(next, number+1)
	}
	return known, next
}

// writers returns the UIDs of the pods that have written as units of an application, by the numbers of the units. A UID
// may be empty.
func (f *facts) writers(name string) map[int][]string {
	all := map[int][]string{}
	note := func(application, unit, pod string) {
		if number, err := strconv.Atoi(unit); err == nil && application == name {
			all[number] = append(all[number], pod)
		}
	}
	for _, bag := range f.Databags {
		note(bag.Application, bag.Unit, bag.PodUID)
	}
	for _, o := range f.Outboxes {
		note(o.Application, o.Unit, o.PodUID)
	}
	for _, o := range f.SecretOwners {
		note(o.Application, o.Unit, "")
	}
	return all
}

// overdue is how long after its deadline a pod may still be there: its node is lost then.
const overdue = time.Minute

// withStrays returns an application with the pods of its units whose workload is gone: they serve until they
// are gone themselves, and no pod after its node is lost (TRUST.md T11).
func (u *units) withStrays(a application.Application, known []application.Unit) application.Application {
	for _, pod := range u.Strays {
		is := func(unit application.Unit) bool { return unit.PodUID == pod.UID && unit.Gone == "" }
		if slices.ContainsFunc(known, is) {
			a.Pods = append(slices.Clip(a.Pods), pod)
		}
	}
	lost := func(pod application.Pod) bool {
		over := overdueAt(pod)
		if u.Now.Before(over) {
			u.overdueAt = soonest(u.overdueAt, over)
		}
		return !over.IsZero() && !u.Now.Before(over)
	}
	if slices.ContainsFunc(a.Pods, lost) {
		a.Pods = slices.DeleteFunc(slices.Clone(a.Pods), lost)
	}
	return a
}

// overdueAt returns when a pod that ends is overdue; zero for never.
func overdueAt(pod application.Pod) time.Time {
	if !pod.Injected || !pod.Ending || pod.Deadline.IsZero() {
		return time.Time{}
	}
	return pod.Deadline.Add(overdue)
}

// of returns the units of an end: here as they are, elsewhere as they are recorded.
func (u units) of(e relation.End) []application.Unit {
	if e.Namespace == u.Namespace {
		return u.numbered[e.Application]
	}
	return u.record(e).State.Units
}

// present reports whether a side exists: its application does, and if pods of it are expected, it has had one. A
// provider's pods need no agent, and are then not units. A side in another namespace exists as long as it is offered.
func (u units) present(e relation.End, expected bool) bool {
	a, there := u.app(e)
	return there && (!expected || e.Namespace != u.Namespace || len(a.Workloads) == 0 || u.next[e.Application] > 0)
}

// handles reports whether an end has handlers, or had when it last had units.
func (u units) handles(e relation.End) bool {
	all := u.of(e)
	lives := func(unit application.Unit) bool { return unit.Gone == "" }
	return slices.ContainsFunc(all, func(unit application.Unit) bool { return unit.Handles }) ||
		!u.record(e).State.Vacant.IsZero() && !slices.ContainsFunc(all, lives)
}

// vacant returns since when an application has no unit with handlers, if it has none at all; zero if it has units or
// never had handlers.
func (u units) vacant(name string) time.Time {
	since := u.record(u.here(name, "")).State.Vacant
	for _, unit := range u.numbered[name] {
		switch {
		case unit.Gone == "":
			return time.Time{}
		case unit.Handles && unit.GoneSince.After(since):
			since = unit.GoneSince
		}
	}
	return since
}

// there reports whether a unit of an end is there, or will be again.
func (u units) there(r relation.Relation, e relation.End, unit conversation.Unit) bool {
	return slices.ContainsFunc(u.of(e), func(u application.Unit) bool { return u.Gone == "" && r.Unit(e, u.Number) == unit })
}

// hearers lists the units of an end that have handlers and are owed a departure.
func (u units) hearers(r relation.Relation, e relation.End, departed conversation.Unit) []conversation.Unit {
	var all []conversation.Unit
	for _, u := range u.of(e) {
		if unit := r.Unit(e, u.Number); u.Gone == "" && u.Handles && unit != departed {
			all = append(all, unit)
		}
	}
	return all[:min(len(all), relation.MostOwed)]
}
