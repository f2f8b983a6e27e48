package negotiation

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// judgeApplications records each application that takes part, and forgets
// those that do not and that no relation needs.
func (n *negotiation) judgeApplications() {
	before := make(map[string]Record, len(n.Records))
	for _, r := range n.Records {
		before[r.Name] = r
	}
	waiting := make(map[string][]Waiting, len(n.Applications))
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
	is.Units, is.NextUnit = n.remembered(a.Name), n.nextUnits[a.Name]
	for r := range n.of(a.Name) {
		is.LastRelation = max(is.LastRelation, r.State.ID)
	}
	is.Conditions = slices.Concat(n.applicationConditions(a, waiting), said(condition.ApplicationStatus, is.Says()))
	if len(cycle) > 0 {
		is.Conditions = condition.With(is.Conditions, condition.Condition{Type: condition.GateCycle, True: true, Reason: "GateCycle",
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
	others := slices.Concat(leftOutOf(n.leftOut[a.Name]), notInjected(n.Namespace, a), agentFailed(n.Namespace, a), n.projected(a), n.suspended(a),
		n.grantRefused(a.Name), n.heldOf(a), handlerFailed(n.Namespace, stumbles(a.Name, n.units[a.Name])))
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
	cs := settled(others, n.unanswered(a, waiting))
	switch {
	case n.OptedOut:
		cs = condition.Stuck(ReasonOptedOut, notOptedIn(n.Namespace))
	case len(stuck) > 0:
		cs = condition.Stuck(why, strings.Join(stuck, "; "))
	case !a.TakesPart() && len(n.leftOut[a.Name]) > 0:
		cs = notYet(n.leftOut[a.Name])
	case !a.TakesPart():
		cs = condition.Waiting(ReasonDeclarationGone, "the application declares nothing any more: its relations are held")
	case a.OptedOut():
		cs = condition.Stuck(ReasonOptedOut,
			fmt.Sprintf("the pods opt out of injection and get no data: remove %s=false or what they consume", application.KeyInject))
	case len(open) > 0:
		cs = condition.Waiting(ReasonWaiting, "waits for "+strings.Join(open, "; "))
		if n.waitsForPerson(a.Name, waiting) {
			cs = condition.Stuck(ReasonWaiting, "waits for "+strings.Join(open, "; "))
		}
	}
	return condition.With(cs, others...)
}

// waitsForPerson reports whether a required endpoint of an application waits for a relation
// that is stalled.
func (n *negotiation) waitsForPerson(name string, waiting []Waiting) bool {
	for r := range n.of(name) {
		if condition.Blocked(r.State.Conditions) && slices.ContainsFunc(waiting, func(w Waiting) bool {
			return !w.Optional && r.Requirer == (End{n.Namespace, name, w.Endpoint})
		}) {
			return true
		}
	}
	return false
}

// unanswered returns the first reference of an application that leads nowhere and that no
// required endpoint waits for: a second or optional provider that is misspelt or not there yet.
func (n *negotiation) unanswered(a application.Application, waiting []Waiting) *Obstacle {
	for _, o := range n.obstacles[a.Name] {
		if !slices.ContainsFunc(waiting, func(w Waiting) bool { return !w.Optional && strings.Contains(w.Message, o.Message) }) {
			return &o
		}
	}
	return nil
}

// settled returns that an application has the data that it needs, and refers to what else
// is wrong with it: its other conditions, or a reference that leads nowhere. While a
// handler fails, or a pod has no agent that runs, the application is not ready.
func settled(others []condition.Condition, unanswered *Obstacle) []condition.Condition {
	var types []string
	for _, c := range others {
		types = append(types, string(c.Type))
		if slices.Contains([]condition.Type{condition.HandlerFailed, condition.NotInjected, condition.AgentFailed}, c.Type) {
			return condition.Waiting(string(c.Type), fmt.Sprintf("every required relation is complete, but see condition %s", c.Type))
		}
	}
	switch {
	case len(types) > 0:
	case unanswered != nil:
		return condition.Settled(unanswered.Reason, "every required relation is complete, but "+unanswered.Message)
	default:
		return condition.Settled(ReasonComplete, "every required relation is complete")
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

// settleIn is how long a new Service may select nothing before that is reported: in one
// apply it often comes before its workload.
const settleIn = 10 * time.Second

// ignore notes the ignored objects of each application.
func (n *negotiation) ignore() {
	if n.Ending {
		return
	}
	for _, f := range n.Orphans {
		if over := f.Created.Add(settleIn); f.Reason == application.ReasonNoPods && n.Now.Before(over) {
			n.wakeAt(over)
			continue
		}
		f.Created = time.Time{}
		n.leftOut[f.Application] = append(n.leftOut[f.Application], f)
	}
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

// agentFailed returns why the agent of a pod, or its handlers' container, does not run. It
// names the first pod only: a fault of a template is that of each pod.
func agentFailed(namespace string, a application.Application) []condition.Condition {
	for _, p := range a.Pods {
		if p.AgentTrouble != "" && !p.Ending && !p.Finished {
			return []condition.Condition{{Type: condition.AgentFailed, True: true, Reason: "NotRunning",
				Message: fmt.Sprintf("%s: kubectl describe pod %s -n %s", p.AgentTrouble, p.Name, namespace)}}
		}
	}
	return nil
}

// notInjected names the pods that should have an agent and have none, with the
// cure (INJECTION.md I1).
func notInjected(namespace string, a application.Application) []condition.Condition {
	if !a.Consumes() {
		return nil
	}
	for _, p := range a.Pods {
		if p.Injected || p.Ending || p.Annotations[application.KeyInject] == "false" || p.Labels[application.KeyInject] == "false" {
			continue
		}
		cure := "delete it and create it again"
		if w := a.Workloads[0]; w.Restartable() {
			cure = fmt.Sprintf("kubectl rollout restart %s/%s -n %s", strings.ToLower(string(w.Kind)), w.Name, namespace)
		}
		return []condition.Condition{{Type: condition.NotInjected, True: true, Reason: "NoAgent",
			Message: fmt.Sprintf("pod %s has no agent, because it was created before its declaration, its namespace's label or Orcon: %s", p.Name, cure)}}
	}
	return nil
}
