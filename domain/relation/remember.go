package relation

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// judgeApplications records each application that takes part, and forgets
// those that do not and that no relation needs.
func (n *negotiation) judgeApplications() {
	before := map[string]Record{}
	for _, r := range n.Records {
		before[r.Name] = r
	}
	waiting := map[string][]Waiting{}
	for _, a := range n.Applications {
		waiting[a.Name] = n.waiting(a)
	}
	cycles := n.cycles(waiting)
	for _, name := range slices.Sorted(maps.Keys(n.named())) {
		a := n.apps[name]
		a.Name = name
		was, there := before[name]
		is, rollout := n.state(a, was.State, waiting[name], cycles[name])
		if !there || rollout != nil || !reflect.DeepEqual(is, was.State) {
			n.remember = append(n.remember, Remember{Record: Record{Name: name, UID: was.UID, State: is}, Rollout: rollout})
		}
		delete(before, name)
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		n.forgets = append(n.forgets, Forget{before[name]})
	}
}

// named returns the applications to record: those that take part or try to,
// those that would if they could, those that a relation names, and the one that
// holds the last relation id.
func (n *negotiation) named() map[string]bool {
	names := map[string]bool{}
	for _, a := range n.Applications {
		if a.TakesPart() || len(a.Faults) > 0 {
			names[a.Name] = true
		}
	}
	for name := range n.leftOut {
		names[name] = true
	}
	for _, r := range n.relations {
		for _, e := range []End{r.Requirer, r.Provider} {
			if e.Namespace == n.Namespace {
				names[e.Application] = true
			}
		}
	}
	for _, r := range n.Consumers {
		if r.State.Offer != "" { // else anybody elsewhere could have records made here
			names[r.Provider.Application] = true
		}
	}
	if name := n.keeper(names); name != "" {
		names[name] = true
	}
	return names
}

// keeper returns the application that nobody needs but for its record, which
// alone holds the highest relation id: without it the id would be given again. Only
// what is stored and stays counts: of what this look decides, any part may fail.
func (n *negotiation) keeper(names map[string]bool) string {
	highest, name := 0, ""
	for _, r := range n.Relations {
		if r.Deleted.IsZero() {
			highest = max(highest, r.State.ID)
		}
	}
	for _, r := range n.Records {
		if names[r.Name] {
			highest = max(highest, r.State.LastRelation)
		}
	}
	for _, r := range n.Records {
		if r.State.LastRelation > highest {
			highest, name = r.State.LastRelation, r.Name
		}
	}
	return name
}

func (n *negotiation) state(a application.Application, was ApplicationState, waiting []Waiting, cycle []string) (ApplicationState, *Rollout) {
	is := ApplicationState{Endpoints: a.Endpoints, Sources: sources(a), LeftOut: n.leftOut[a.Name], Waiting: waiting, LastRelation: was.LastRelation, Workload: was.Workload}
	is.Grants = n.granted[a.Name]
	is.Units, is.NextUnit = n.units[a.Name], n.nextUnits[a.Name]
	for r := range n.of(a.Name) {
		is.LastRelation = max(is.LastRelation, r.State.ID)
	}
	is.Conditions = slices.Concat(n.applicationConditions(a, waiting), said(condition.ApplicationStatus, is.Says()))
	if len(cycle) > 0 {
		is.Conditions = append(is.Conditions, condition.Condition{Type: condition.GateCycle, True: true, Reason: "GateCycle",
			Message: fmt.Sprintf("%s wait for each other: set %s: none on one of them", listed(cycle), application.KeyGate)})
	}
	restarts, rollout, paused := n.restart(a, was.Restarts)
	is.Restarts = restarts
	is.Conditions = append(is.Conditions, paused...)
	return is, rollout
}

// number gives each pod its unit. Where the namespace has not opted in, its objects
// are not looked at, and all units are as they were (SAFETY.md E13).
func (n *negotiation) number() {
	for _, r := range n.Records {
		n.units[r.Name], n.nextUnits[r.Name] = r.State.Units, r.State.NextUnit
		if _, there := n.apps[r.Name]; !there && !n.OptedOut {
			n.units[r.Name], n.nextUnits[r.Name] = application.Number(application.Application{Name: r.Name}, r.State.Units, r.State.NextUnit, n.Now)
		}
	}
	for name, a := range n.apps {
		was := n.records[End{Namespace: n.Namespace, Application: name}].State
		n.units[name], n.nextUnits[name] = application.Number(a, was.Units, was.NextUnit, n.Now)
	}
}

func sources(a application.Application) []string {
	var all []string
	for _, w := range a.Workloads {
		all = append(all, string(w.Kind)+"/"+w.Name)
	}
	for _, s := range a.Services {
		all = append(all, "Service/"+s)
	}
	return all
}

// applicationConditions sums an application up: what a person must mend comes
// before what may still happen by itself.
func (n *negotiation) applicationConditions(a application.Application, waiting []Waiting) []condition.Condition {
	var stuck, open []string
	why := ""
	others := slices.Concat(leftOutOf(n.leftOut[a.Name]), notInjected(a), n.projected(a), n.suspended(a), n.grantRefused(a.Name),
		n.heldOf(a), handlerFailed(stumbles(a.Name, n.units[a.Name])))
	for _, f := range a.Faults {
		why, stuck = cmp.Or(why, f.Reason), append(stuck, f.Message)
	}
	for _, o := range n.obstacles[a.Name] {
		if o.Stuck {
			why, stuck = cmp.Or(why, o.Reason), append(stuck, o.Message)
		}
	}
	for _, w := range waiting {
		if !w.Optional {
			open = append(open, w.Endpoint+": "+w.Message)
		}
	}
	cs := settled(others)
	switch {
	case len(stuck) > 0:
		cs = condition.Stuck(why, strings.Join(stuck, "; "))
	case !a.TakesPart() && len(n.leftOut[a.Name]) > 0:
		cs = notYet(n.leftOut[a.Name])
	case !a.TakesPart():
		cs = condition.Waiting(ReasonDeclarationGone, "it declares nothing any more; relations that were declared are held")
	case len(open) > 0:
		cs = condition.Waiting(ReasonWaiting, "waits for "+strings.Join(open, "; "))
	}
	return slices.Concat(cs, others)
}

// settled says that an application has what it needs, and what else is wrong with it: who
// looks at a table sees nothing but this.
func settled(others []condition.Condition) []condition.Condition {
	why, messages := ReasonComplete, []string{"every required relation is complete"}
	for i, c := range others {
		if i == 0 {
			why = c.Reason
		}
		messages = append(messages, c.Message)
	}
	return condition.Settled(why, strings.Join(messages, "; but "))
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

// leftOutOf names what claims an application's name and takes no part.
func leftOutOf(faults []application.Fault) []condition.Condition {
	var all []string
	for _, f := range faults {
		all = append(all, f.Message)
	}
	if len(all) == 0 {
		return nil
	}
	return []condition.Condition{{Type: condition.LeftOut, True: true, Reason: faults[0].Reason, Message: listed(all)}}
}

// notInjected names the pods that should have an agent and have none, with the
// cure (INJECTION.md I1).
func notInjected(a application.Application) []condition.Condition {
	if !a.Consumes() {
		return nil
	}
	for _, p := range a.Pods {
		if p.Injected || p.Ending || p.Annotations[application.KeyInject] == "false" || p.Labels[application.KeyInject] == "false" {
			continue
		}
		cure := "delete it and create it again"
		if w := a.Workloads[0]; w.Restartable() {
			cure = fmt.Sprintf("kubectl rollout restart %s/%s", strings.ToLower(string(w.Kind)), w.Name)
		}
		return []condition.Condition{{Type: condition.NotInjected, True: true, Reason: "NoAgent",
			Message: fmt.Sprintf("pod %s has no agent, because it was created before its declaration, its namespace's label or Orcon: %s", p.Name, cure)}}
	}
	return nil
}

// waiting lists the endpoints of a that have no complete relation, in order of
// declaration, each with the reason.
func (n *negotiation) waiting(a application.Application) []Waiting {
	var all []Waiting
	for _, e := range a.Endpoints {
		if e.Role != application.Requirer {
			continue
		}
		if reason, message := n.why(a, e); reason != "" {
			all = append(all, Waiting{Endpoint: e.Name, Optional: e.Optional, Reason: reason, Message: message})
		}
	}
	return all
}

// why returns the reason why an endpoint has no complete relation; empty if it
// has one. Of several it is that of the first by name, whatever ids they were given, and
// of one that ends only if no other is there.
func (n *negotiation) why(a application.Application, e application.Endpoint) (reason, message string) {
	here, first := End{n.Namespace, a.Name, e.Name}, ""
	for r := range n.of(a.Name) {
		if r.Requirer != here {
			continue
		}
		ready, _ := condition.Find(r.State.Conditions, condition.Ready)
		if ready.True {
			return "", ""
		}
		ends, ending := ready.Reason == ReasonEnding, reason == ReasonEnding
		if first == "" || ending && !ends || ending == ends && r.Name < first {
			first, reason, message = r.Name, ready.Reason, ready.Message
		}
	}
	if reason != "" && reason != ReasonEnding {
		return reason, message
	}
	if blocked, by := n.blocked(a, e); blocked != "" {
		return blocked, by
	}
	if reason == ReasonEnding {
		return reason, message
	}
	return ReasonNoRelation, n.candidates(a, e)
}

// blocked returns why the references that may be about an endpoint lead
// nowhere: the one that names it, or all that name none.
func (n *negotiation) blocked(a application.Application, e application.Endpoint) (reason, message string) {
	var all []string
	for _, o := range n.obstacles[a.Name] {
		switch o.Reference.Endpoint {
		case e.Name:
			return o.Reason, o.Message
		case "":
			reason, all = o.Reason, append(all, o.Message)
		}
	}
	return reason, strings.Join(all, "; ")
}

// candidates says what could be written for an endpoint that nothing names; it
// never picks one (SAFETY.md I22).
func (n *negotiation) candidates(a application.Application, e application.Endpoint) string {
	var all []string
	for _, b := range n.providers[e.Interface] {
		for _, p := range pairs(end{n.Namespace, a}, end{n.Namespace, b}, application.Reference{Endpoint: e.Name}) {
			all = append(all, p.String())
		}
	}
	if len(all) == 0 {
		return fmt.Sprintf("%s names nobody for it, and nobody here provides %s", application.KeyRelations, e.Interface)
	}
	return fmt.Sprintf("%s names nobody for it: add one of %s", application.KeyRelations, listed(all))
}

// listed joins what may be very many for a message.
func listed(all []string) string {
	const most = 20
	if len(all) <= most {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), len(all)-most)
}
