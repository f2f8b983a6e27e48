package negotiation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
)

// limitedFor is how long the writes of a unit count as limited after one was put off: longer than the pause between
// reports of that.
const limitedFor = 2 * time.Minute

// writesLimited names the units of an application whose writes are put off (TRUST.md U1).
func writesLimited(now time.Time, name string, all []status.Shortage) []condition.Condition {
	var texts []string
	for _, s := range all {
		if now.Before(s.Since.Add(limitedFor)) {
			texts = append(texts, fmt.Sprintf("%s/%d has used up the budget of its %s", name, s.Unit, strings.ToLower(s.Budget)))
		}
	}
	if len(texts) == 0 {
		return nil
	}
	slices.Sort(texts)
	return []condition.Condition{condition.New(condition.WritesLimited, true, string(condition.WritesLimited),
		"writes are put off: "+listed(texts)+"; write less, or less often")}
}

// shortageEnds returns the next time at which writes count as limited no longer.
func shortageEnds(now time.Time, all []status.Shortage) time.Time {
	var wake time.Time
	for _, s := range all {
		if ends := s.Since.Add(limitedFor); now.Before(ends) {
			wake = soonest(wake, ends)
		}
	}
	return wake
}
