package negotiation

import (
	"fmt"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// outdatedFor is how long an agent counts as outdated after it was refused its data: longer than the pause between
// reports of that.
const outdatedFor = 2 * time.Minute

// agentOutdated names the pods whose agent is too old to receive their data (TRUST.md A6).
func agentOutdated(now time.Time, namespace string, a application.Application, units []application.Unit) []condition.Condition {
	var pods []string
	for _, u := range units {
		if now.Before(u.Outdated.Add(outdatedFor)) {
			pods = append(pods, u.Pod)
		}
	}
	if len(pods) == 0 || len(a.Workloads) == 0 {
		return nil
	}
	return []condition.Condition{condition.New(condition.AgentOutdated, true, string(condition.AgentOutdated), fmt.Sprintf(
		"no change reaches these pods, whose databags are more than the 16 MiB that their older agents accept: %s: %s",
		listed(pods), replace(namespace, a)))}
}

// outdatedEnds returns the next time at which an agent counts as outdated no longer.
func outdatedEnds(now time.Time, units []application.Unit) (wake time.Time) {
	for _, u := range units {
		if ends := u.Outdated.Add(outdatedFor); now.Before(ends) {
			wake = soonest(wake, ends)
		}
	}
	return wake
}
