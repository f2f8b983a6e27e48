package negotiation

import (
	"fmt"
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
)

// Status is a relation's own, in one of Juju's words (RELATIONS.md L3).
type Status string

// The statuses of a relation.
const (
	// Joining: it is made, and not both sides are there yet.
	Joining Status = "joining"
	// Joined: both sides are there, and the requirer has had a unit.
	Joined Status = "joined"
	// Suspending: the Offer that opened it was withdrawn, and handlers have yet to handle
	// that.
	Suspending Status = "suspending"
	// Suspended: they have, or had time enough.
	Suspended Status = "suspended"
	// Broken: it has ended.
	Broken Status = "broken"
	// Failed: a person must act, or a handler fails.
	Failed Status = "error"
)

// status derives a relation's status from its life, and from nothing that comes and
// goes with units: a provider that starts anew is no news to ten thousand relations
// (SAFETY.md D12).
func (n *negotiation) status(r Relation) Status {
	ready, _ := condition.Find(r.State.Conditions, condition.Ready)
	switch {
	case !r.Alive():
		return Broken
	case !r.Open() && r.State.Offer != "":
		return n.suspension(r)
	case condition.Blocked(r.State.Conditions) || ready.Reason == string(condition.HandlerFailed):
		return Failed
	case n.present(r.Requirer, true) && n.present(r.Provider, false):
		return Joined
	default:
		return Joining
	}
}

// suspension tells whether handlers have yet to handle a suspension, for as long as they
// may take to handle an end (RELATIONS.md L3, L4).
func (n *negotiation) suspension(r Relation) Status {
	over := r.State.SuspendedSince.Add(handling)
	if !n.Now.Before(over) || len(n.blocking(r, r.State.Closed)) == 0 {
		return Suspended
	}
	n.wakeAt(over)
	return Suspending
}

// present reports whether a side is there: its application is, and where pods of it
// are to be expected, it has had one. A provider's pods need no agent, and are no units
// then. A side in another namespace is there as long as it is offered.
func (n *negotiation) present(e End, expected bool) bool {
	a, there := n.app(e)
	return there && (!expected || e.Namespace != n.Namespace || len(a.Workloads) == 0 || n.nextUnits[e.Application] > 0)
}

// sides is what the sides say of how they are in a relation.
func sides(r Relation) []condition.Condition {
	return slices.Concat(said(condition.RequirerStatus, r.State.RequirerStatus), said(condition.ProviderStatus, r.State.ProviderStatus))
}

// Says is what an application says of how it is: its leader, or for want of that the
// unit that needs most care.
func (s ApplicationState) Says() status.Info {
	if s.Workload.Said() {
		return s.Workload
	}
	var units []status.Info
	for _, u := range s.Units {
		units = append(units, u.Workload)
	}
	return status.Worst(units)
}

// said is a status as a condition, which is true where it is active; none where
// nothing was said.
func said(t condition.Type, info status.Info) []condition.Condition {
	if !info.Said() {
		return nil
	}
	return []condition.Condition{{Type: t, True: info.State == status.Active, Reason: info.Reason(), Message: info.Text()}}
}

// stumble is a unit whose handlers fail.
type stumble struct {
	unit string
	application.Unit
}

// failingIn names the units of both sides whose handlers fail at an event of a
// relation.
func (n *negotiation) failingIn(r Relation) []condition.Condition {
	var all []stumble
	for _, e := range r.ends() {
		if e.Namespace == n.Namespace {
			all = append(all, stumbles(e.Application, n.record(e).State.Units)...)
		}
	}
	return handlerFailed(n.Namespace, slices.DeleteFunc(all, func(s stumble) bool { return s.Failing.Relation != r.UID }))
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
	return []condition.Condition{{Type: condition.HandlerFailed, True: true, Reason: string(condition.HandlerFailed), Message: message}}
}
