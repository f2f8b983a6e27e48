package negotiation

import (
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// unwrittenFor is how long the files of a unit count as unwritten after that was reported: longer than the pause between
// reports.
const unwrittenFor = 2 * time.Minute

// filesUnwritten returns that the agent of a unit cannot write files, nil if none reports it (TRUST.md U2).
func (s standings) filesUnwritten(units []application.Unit) *condition.Condition {
	for _, u := range units {
		if u.Unwritten.Text != "" && s.Now.Before(u.Unwritten.Since.Add(unwrittenFor)) {
			c := condition.New(condition.AgentFailed, true, "FilesNotWritten", "the agent of pod "+u.Pod+
				" cannot write files, and its containers have older ones: "+u.Unwritten.Text)
			return &c
		}
	}
	return nil
}

// unwrittenEnds returns the next time at which the files of a unit count as unwritten no longer.
func unwrittenEnds(now time.Time, units []application.Unit) (wake time.Time) {
	for _, u := range units {
		if ends := u.Unwritten.Since.Add(unwrittenFor); now.Before(ends) {
			wake = soonest(wake, ends)
		}
	}
	return wake
}
