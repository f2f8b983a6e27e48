package workspace

import (
	"fmt"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// Conditions returns the conditions of a Workspace; their reason is its phase, or that a plan waits while the lock is free.
func Conditions(w Workspace, e Extent) []condition.Condition {
	phase := w.Phase(e)
	reason := string(phase)
	switch phase {
	case Ready:
		if w.Terms.Approval && Applicable(w, w.Plan.Digest, Run{}) == nil {
			return condition.Settled(unapproved, fmt.Sprintf("JobRun %s has left a plan: `orcon job plan %[2]s` shows it, and "+
				"`orcon job approve %[2]s` has it applied", w.Plan.Run.Name, Named(w, w.Plan.Run.Name)))
		}
		return condition.Settled(reason, fmt.Sprintf("the lock is free, and generation %d is current", w.State.Number))
	case Starting, Running:
		return condition.Waiting(reason, holder(w))
	case NeedsRecovery:
		return condition.Stuck(reason, holder(w))
	case StoreAhead:
		return condition.Stuck(reason, ahead(w, e).Error())
	default:
		return condition.Stuck(reason, w.Startable(e).Error())
	}
}

// Unreadable returns the conditions of a Workspace whose state cannot be read.
func Unreadable(err error) []condition.Condition {
	return condition.Stuck(unreadable, "the state cannot be read, so that nothing starts and nothing is written: "+err.Error())
}

// The reasons that are not the name of a phase.
const (
	unreadable = "Unreadable"
	unapproved = "WaitingForApproval"
)

// Meanings returns every reason that a Workspace shows.
func Meanings() []condition.Meaning {
	return []condition.Meaning{
		{Type: condition.Ready, Reason: string(Ready), Means: "the lock is free: the next run may start", Cure: "nothing to do"},
		{Type: condition.Ready, Reason: unapproved, Means: "the lock is free, and a plan waits until a person approves it",
			Cure: "look at the plan and approve it with the commands in the message"},
		{Type: condition.Reconciling, Reason: string(Starting), Means: "a run holds the lock, and its process has not started",
			Cure: "if it lasts, see the JobRun"},
		{Type: condition.Reconciling, Reason: string(Running), Means: "a run holds the lock, and its process may have started",
			Cure: "wait for it, or cancel the JobRun"},
		{Type: condition.Stalled, Reason: string(NeedsRecovery), Means: "a run is lost; its process may still run, and its template is exclusive",
			Cure: "see that it no longer runs, then decide with the command in the message"},
		{Type: condition.Stalled, Reason: string(NeedsAccept),
			Means: "the process that left the state was killed, so that it may be incomplete; or a thousand orphans wait for a decision",
			Cure:  "look at what waits, then accept it, go back or discard it with the commands in the message"},
		{Type: condition.Stalled, Reason: unreadable, Means: "a newer version of Orcon, or another writer, has written the state",
			Cure: "use the version that wrote it, or restore the JobWorkspace from a backup"},
		{Type: condition.Stalled, Reason: string(StoreAhead),
			Means: "the store holds more than the JobWorkspace knows, as after the restore of an older object, or where one is made anew",
			Cure:  "look at what the store has, then decide with the command in the message"},
	}
}
