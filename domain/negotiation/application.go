package negotiation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// recorded holds the stored memory of each related application, in order of name.
type recorded struct {
	entries []entry
	wake    time.Time
}

// entry is the stored memory of one application.
type entry struct {
	record relation.Record
	// rollout is to be asked for before that is stored; nil for none.
	rollout *relation.Rollout
}

// record returns what is remembered of each application.
func record(s standings) recorded {
	waiting := make(map[string][]relation.Waiting, len(s.Applications))
	for _, a := range s.Applications {
		waiting[a.Name] = waits{s.facts, s.relations, s.obstacles}.of(a)
	}
	cycles, mourned := s.cycles(waiting), mourned(s.units, s.relations)
	s.owed = unhandledEnds(s.Now, s.sides)
	names := s.named()
	is := recorded{entries: make([]entry, 0, len(names))}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if s.unreadable.record(s.here(name, "")) {
			continue
		}
		a := s.apps[name]
		a.Name = name
		units, fades := remembered(s.units, mourned, name)
		units, closed := overdueGates(a, units, waiting[name], s.Now)
		state, restarted := s.state(a, units, waiting[name], cycles[name])
		was := s.record(s.here(name, ""))
		now := relation.Record{Name: name, UID: was.UID, Copied: s.copies[name].kept(was.Copied), State: state}
		is.entries = append(is.entries, entry{now, restarted.rollout})
		is.wake = soonest(is.wake, fades, closed, restarted.wake, shortageEnds(s.Now, state.Shortages), unwrittenEnds(s.Now, units),
			outdatedEnds(s.Now, units))
	}
	return is
}

// standings has what the state of an application is derived from.
type standings struct {
	*facts
	units     units
	contents  contents
	relations relations
	sides     []relation.Side
	// owed has the sides with an end that an application has owed to its handlers for a while.
	owed   map[string][]relation.Side
	copies copies
	// ends has the latest ends of each provider.
	ends map[string][]relation.RecentEnd
	// ignored lists objects that declare something and are ignored, by the application that they name.
	ignored map[string][]application.Fault
	// obstacles has why references lead nowhere, by application.
	obstacles map[string][]relation.Obstacle
}

// state returns what is remembered of an application with the units that it has, and what
// a change of data does to it.
func (s standings) state(a application.Application, units []application.Unit, waiting []relation.Waiting, cycle []string,
) (relation.ApplicationState, restarted) {
	was := s.record(s.here(a.Name, "")).State
	is := relation.ApplicationState{
		Endpoints: a.Endpoints, Sources: sources(a), LeftOut: firstIgnored(s.ignored[a.Name]), Units: units, NextUnit: s.units.next[a.Name],
		Grants: s.contents.of[a.Name], Workload: was.Workload, Shortages: was.Shortages, Waiting: waiting,
		Ends: s.ends[a.Name], EndsOwed: len(s.owed[a.Name]), Vacant: s.units.vacant(a.Name),
	}
	is.Conditions = slices.Concat(s.conditions(a, units, waiting), said(condition.ApplicationStatus, relation.Says(is)))
	if len(cycle) > 0 {
		is.Conditions = condition.With(is.Conditions, condition.New(condition.GateCycle, true, "GateCycle",
			fmt.Sprintf("%s wait for each other: set %s: none on one of them", listed(cycle), application.KeyGate)))
	}
	after := restart(s.contents, s.relations, a, was.Restarts)
	if !s.OptedOut {
		after = equip(s.Now, a, was.Restarts, after)
	}
	is.Restarts, is.Conditions = after.restarts, append(is.Conditions, after.paused...)
	return is, after
}

// sources lists the objects that an application is made of, as kind/name.
func sources(a application.Application) []string {
	var all []string
	for _, w := range a.Workloads {
		all = append(all, w.ID())
	}
	for _, s := range a.Services {
		all = append(all, "Service/"+s)
	}
	return all
}

// conditions sums an application up: what a person must mend comes
// before what may still happen by itself.
func (s standings) conditions(a application.Application, units []application.Unit, waiting []relation.Waiting) []condition.Condition {
	var stuck, open []string
	why := ""
	others := slices.Concat(leftOutOf(s.ignored[a.Name]),
		notInjected(s.Namespace, a, s.record(s.here(a.Name, "")).State.Restarts), s.agentFailed(a, units),
		agentOutdated(s.Now, s.Namespace, a, units),
		s.projected(a), s.copies[a.Name].refused, offers{s.facts}.suspended(a), s.contents.grantRefused(a.Name), s.heldOf(a),
		endsOwed(s, a.Name), endsHeld(s.Namespace, s.sides, a.Name),
		handlerFailed(s.Namespace, stumbles(a.Name, s.units.numbered[a.Name])),
		writesLimited(s.Now, a.Name, s.record(s.here(a.Name, "")).State.Shortages),
		commitRefused(a.Name, s.Outboxes))
	for _, f := range a.Faults {
		why, stuck = cmp.Or(why, f.Reason), append(stuck, f.Message)
	}
	for _, o := range s.obstacles[a.Name] {
		if o.Stuck {
			why, stuck = cmp.Or(why, o.Reason), append(stuck, o.Message)
		}
	}
	for _, w := range waiting {
		if !w.Optional {
			open = append(open, w.Endpoint+": "+w.Message)
		}
	}
	cs := settled(others, s.unanswered(a, waiting))
	switch {
	case s.OptedOut:
		cs = condition.Stuck(relation.ReasonOptedOut, notOptedIn(s.Namespace))
	case len(stuck) > 0:
		cs = condition.Stuck(why, strings.Join(stuck, "; "))
	case !a.TakesPart() && len(s.ignored[a.Name]) > 0:
		cs = notYet(s.ignored[a.Name])
	case !a.TakesPart():
		cs = condition.Waiting(relation.ReasonDeclarationGone, s.undeclared(a))
	case a.OptedOut():
		cs = condition.Stuck(relation.ReasonOptedOut,
			fmt.Sprintf("the pods opt out of injection and get no data: remove %s=false or what they consume", application.KeyInject))
	case len(open) > 0:
		text := "waits for " + strings.Join(open, "; ") + pastDeadline(a)
		cs = condition.Waiting(relation.ReasonWaiting, text)
		if s.waitsForPerson(a.Name, waiting) {
			cs = condition.Stuck(relation.ReasonWaiting, text)
		}
	}
	return condition.With(cs, others...)
}

// undeclared returns what becomes of an application that declares nothing any more.
func (s standings) undeclared(a application.Application) string {
	text := "the application declares nothing any more"
	if pod := s.Ended[a.Name]; pod != "" {
		text = fmt.Sprintf("pod %s has ended, and nothing else declares the application", pod)
	}
	for r := range s.relations.of(a.Name) {
		if r.Alive() {
			return text + ": its relations are held"
		}
	}
	return text
}

// projected returns which data an application's pods cannot have; what was stored where some of
// the data is unreadable.
func (s standings) projected(a application.Application) []condition.Condition {
	for r := range s.relations.of(a.Name) {
		if s.unreadable.freezes(r) {
			return slices.DeleteFunc(slices.Clone(s.record(s.here(a.Name, "")).State.Conditions), func(c condition.Condition) bool {
				return c.Type != condition.EnvRefused && c.Type != condition.FilesRefused
			})
		}
	}
	return projected(s.contents, s.relations, a)
}

// waitsForPerson reports whether a required endpoint of an application waits for a relation
// that is stalled.
func (s standings) waitsForPerson(name string, waiting []relation.Waiting) bool {
	for r := range s.relations.of(name) {
		if condition.Blocked(r.State.Conditions) && slices.ContainsFunc(waiting, func(w relation.Waiting) bool {
			return !w.Optional && r.Requirer == (s.here(name, w.Endpoint))
		}) {
			return true
		}
	}
	return false
}

// unanswered returns the first reference of an application that leads nowhere and that no
// required endpoint waits for: a second or optional provider that is misspelt or not there yet.
func (s standings) unanswered(a application.Application, waiting []relation.Waiting) *relation.Obstacle {
	for _, o := range s.obstacles[a.Name] {
		if !slices.ContainsFunc(waiting, func(w relation.Waiting) bool { return !w.Optional && strings.Contains(w.Message, o.Message) }) {
			return &o
		}
	}
	return nil
}

// settled returns that an application has the data that it needs, and refers to what else
// is wrong with it: its other conditions, or a reference that leads nowhere. While a
// handler fails, or a pod has no agent that runs and receives its data, the application is not ready.
func settled(others []condition.Condition, unanswered *relation.Obstacle) []condition.Condition {
	var types []string
	for _, c := range others {
		types = append(types, string(c.Type))
		if slices.Contains([]condition.Type{
			condition.HandlerFailed, condition.NotInjected, condition.AgentFailed, condition.AgentOutdated,
		}, c.Type) {
			return condition.Waiting(string(c.Type), fmt.Sprintf("every required relation is complete, but see condition %s", c.Type))
		}
	}
	switch {
	case len(types) > 0:
	case unanswered != nil:
		return condition.Settled(unanswered.Reason, "every required relation is complete, but "+unanswered.Message)
	default:
		return condition.Settled(relation.ReasonComplete, "every required relation is complete")
	}
	return condition.Settled(types[0], "every required relation is complete, but see condition "+strings.Join(types, ", "))
}

// notYet says why an application is none: only a Service that waits for its pods
// becomes one by itself.
func notYet(faults []application.Fault) []condition.Condition {
	for _, f := range faults {
		if f.Reason != application.ReasonNoPods {
			return condition.Stuck(f.Reason, f.Message)
		}
	}
	return condition.Waiting(faults[0].Reason, faults[0].Message)
}

// heldOf names the relations that an application has only because they are held, and why
// what it declares now does not take their place.
func (s standings) heldOf(a application.Application) []condition.Condition {
	var all []string
	why := ""
	for _, e := range a.Endpoints {
		for r := range s.relations.of(a.Name) {
			if !r.Held() || !r.Alive() || r.Requirer != s.here(a.Name, e.Name) {
				continue
			}
			text := fmt.Sprintf("the relation of %s with %s is held", e.Name, r.Provider.Written(s.Namespace))
			if r.State.HeldReason != relation.ReasonLimit {
				text += fmt.Sprintf(" until %s, because nothing declares it any more", relation.HeldUntil(r.State).UTC().Format(time.RFC3339))
			}
			if _, wrong := (waits{s.facts, s.relations, s.obstacles}).blocked(a, e); wrong != "" {
				text += ": " + wrong
			}
			all, why = append(all, text), cmp.Or(why, r.State.HeldReason, relation.ReasonDeclarationGone)
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	return []condition.Condition{condition.New(condition.Held, true, why, strings.Join(all, "; "))}
}
