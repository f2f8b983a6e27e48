package negotiation

import (
	"fmt"
	"slices"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// opensIn is how long a gate may stay closed after its agent has started, and again after the data is complete,
// before that is reported: the kubelet and the agent need some of it.
const opensIn = 30 * time.Second

// overdueGates notes on each unit since when its gate is closed although its application waits for nothing
// (TRUST.md A4). wake is when the next gate becomes overdue.
func overdueGates(a application.Application, units []application.Unit, waiting []relation.Waiting, now time.Time,
) (all []application.Unit, wake time.Time) {
	holding := make(map[string]time.Time, len(a.Pods))
	for _, p := range a.Pods {
		if over := p.Holding.Add(opensIn); p.EgressDenied != "" && now.Before(over) {
			wake = soonest(wake, over)
		}
		if !p.Holding.IsZero() && !p.Ending && !required(waiting) {
			holding[p.UID] = p.Holding
		}
	}
	all = slices.Clone(units)
	for i := range all {
		u := &all[i]
		since, holds := holding[u.PodUID]
		begins := since.Add(opensIn)
		switch {
		case !holds:
			u.Overdue = time.Time{}
		case now.Before(begins):
			wake = soonest(wake, begins)
		case u.Overdue.IsZero():
			u.Overdue = now
		}
		if reported := u.Overdue.Add(opensIn); !u.Overdue.IsZero() && now.Before(reported) {
			wake = soonest(wake, reported)
		}
	}
	return all, wake
}

// required reports whether an application waits for a required endpoint.
func required(waiting []relation.Waiting) bool {
	return slices.ContainsFunc(waiting, func(w relation.Waiting) bool { return !w.Optional })
}

// pastDeadline returns what the wait of an application's pods has done to its rollout, to be added to what it waits
// for; empty if nothing (TRUST.md A8).
func pastDeadline(a application.Application) string {
	holds := slices.ContainsFunc(a.Pods, func(p application.Pod) bool { return !p.Holding.IsZero() && !p.Ending })
	for _, w := range a.Workloads {
		if w.PastDeadline > 0 && holds {
			return fmt.Sprintf("; meanwhile the rollout of %s %s has exceeded progressDeadlineSeconds (%d) and counts as failed: "+
				"it goes on when the pods start", w.Kind, w.Name, w.PastDeadline)
		}
	}
	return ""
}

// agentFailed returns why the agent of a pod, or its handlers' container, does not run, which files it cannot write, or
// why the gate stays closed. It names the first pod only: a fault of a template is that of each pod.
func (s standings) agentFailed(a application.Application, units []application.Unit) []condition.Condition {
	for _, look := range []func(application.Pod) *condition.Condition{s.nodeTrouble, s.agentTrouble, s.egressDenied} {
		for _, p := range a.Pods {
			if c := look(p); c != nil && !p.Ending && !p.Finished {
				return []condition.Condition{*c}
			}
		}
	}
	if c := s.filesUnwritten(units); c != nil {
		return []condition.Condition{*c}
	}
	for _, u := range units {
		if !u.Overdue.IsZero() && !s.Now.Before(u.Overdue.Add(opensIn)) {
			return []condition.Condition{condition.New(condition.AgentFailed, true, "GateClosed", "the gate of pod "+u.Pod+
				" is closed although its data is complete: its agent cannot reach the controller, or cannot write files"+s.see(u.Pod))}
		}
	}
	return nil
}

// see returns the command that shows more of a pod.
func (s standings) see(pod string) string {
	return fmt.Sprintf(": kubectl describe pod %s -n %s", pod, s.Namespace)
}

func (s standings) nodeTrouble(p application.Pod) *condition.Condition {
	if p.NodeTrouble == "" {
		return nil
	}
	c := condition.New(condition.AgentFailed, true, p.NodeReason, "pod "+p.Name+": "+p.NodeTrouble)
	return &c
}

func (s standings) agentTrouble(p application.Pod) *condition.Condition {
	if p.AgentTrouble == "" {
		return nil
	}
	c := condition.New(condition.AgentFailed, true, "NotRunning", p.AgentTrouble+s.see(p.Name))
	return &c
}

func (s standings) egressDenied(p application.Pod) *condition.Condition {
	if p.EgressDenied == "" || s.Now.Before(p.Holding.Add(opensIn)) {
		return nil
	}
	c := condition.New(condition.AgentFailed, true, "EgressDenied", fmt.Sprintf(
		"pod %s waits, and these NetworkPolicies do not allow TCP port 8443 of the relations-controller: %s", p.Name, p.EgressDenied))
	return &c
}
