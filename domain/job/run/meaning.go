package run

import "gitlab.ilabt.imec.be/tengu/orcon/domain/condition"

// The reasons of a Run that are not the name of a phase, and not one of a Workspace's reasons for a decision.
const (
	reasonNext        = "Next"
	reasonWaiting     = "Waiting"
	reasonAdmitted    = "Admitted"
	reasonPodPending  = "PodPending"
	reasonCannotStart = "CannotStart"
	reasonExpiring    = "Expiring"
	reasonSuperseded  = "Superseded"
	reasonMissing     = "Missing"
	reasonRefused     = "Refused"
	reasonPlanned     = "Planned"
	// ReasonPlanChanged is that of a Run whose plan is void, so that another one is made.
	ReasonPlanChanged = "PlanChanged"
)

// Conditions returns the conditions of a Run. Ready is true once it has succeeded.
func (s Status) Conditions() []condition.Condition {
	switch {
	case s.Phase == Succeeded:
		return condition.Settled(s.Reason, s.Message)
	case s.Ended(), s.Reason == reasonCannotStart, s.Reason == reasonMissing, s.Phase == Lost && s.Reason != reasonExpiring:
		return condition.Stuck(s.Reason, s.Message)
	}
	return condition.Waiting(s.Reason, s.Message)
}

// Meanings returns every reason that a Run shows.
func Meanings() []condition.Meaning {
	const otherwise = "create another JobRun"
	return []condition.Meaning{
		{Type: condition.Ready, Reason: string(Succeeded), Means: "it ended with exit code 0, and its state is kept", Cure: "nothing to do"},
		{Type: condition.Ready, Reason: reasonPlanned, Means: "it ended with exit code 0, and left a plan",
			Cure: "look at the plan and approve it with the commands in the message"},
		{Type: condition.Stalled, Reason: ReasonPlanChanged, Means: "the state or the input has changed since its plan was made",
			Cure: "look at the new plan and approve it with the command in the message"},
		{Type: condition.Reconciling, Reason: reasonNext, Means: "it starts next", Cure: "wait"},
		{Type: condition.Reconciling, Reason: reasonWaiting, Means: "another run holds the lock, or a person must decide first",
			Cure: "wait, or use the command in the message"},
		{Type: condition.Reconciling, Reason: reasonAdmitted, Means: "it holds the lock, and its pod is being made", Cure: "wait"},
		{Type: condition.Reconciling, Reason: reasonPodPending, Means: "its pod was made and has not claimed it yet", Cure: "if it lasts, describe the pod"},
		{Type: condition.Stalled, Reason: reasonCannotStart, Means: "its pod or its program does not start", Cure: "do as the message advises, or cancel it"},
		{Type: condition.Reconciling, Reason: string(Running), Means: "its process runs", Cure: "wait, or cancel it"},
		{Type: condition.Reconciling, Reason: string(Capturing), Means: "its process has ended; the state is being stored", Cure: "wait"},
		{Type: condition.Reconciling, Reason: string(Cancelled), Means: "it was cancelled: its process is being stopped", Cure: "wait"},
		{Type: condition.Reconciling, Reason: string(TimedOut), Means: "its timeout has passed: its process is being stopped", Cure: "wait"},
		{Type: condition.Reconciling, Reason: reasonExpiring,
			Means: "it is lost; its template is not exclusive, so that the lock is released soon", Cure: "wait"},
		{Type: condition.Stalled, Reason: "Silent", Means: "it sends no renewals; its process may still run",
			Cure: "see that it no longer runs, then decide with the command in the message"},
		{Type: condition.Stalled, Reason: "Vanished", Means: "its pod ended without an outcome",
			Cure: "decide with the command in the message"},
		{Type: condition.Stalled, Reason: "CaptureFailed", Means: "its process has ended, but the state could not be committed",
			Cure: "decide with the command in the message"},
		{Type: condition.Stalled, Reason: "StateTooLarge", Means: "its state is larger than spec.state.maxSize",
			Cure: "raise it, then use the command in the message"},
		{Type: condition.Stalled, Reason: string(Failed), Means: "it failed; what became of its state is in the message",
			Cure: "see its log; then " + otherwise},
		{Type: condition.Stalled, Reason: string(Lost), Means: "it was lost, and how it ended is not known", Cure: otherwise},
		{Type: condition.Stalled, Reason: string(Cancelled), Means: "it was cancelled", Cure: otherwise},
		{Type: condition.Stalled, Reason: string(TimedOut), Means: "its timeout passed", Cure: otherwise + ", with a longer one"},
		{Type: condition.Stalled, Reason: string(Rejected), Means: "another run was queued or running, and concurrency is Reject",
			Cure: "wait for the other; then " + otherwise},
		{Type: condition.Stalled, Reason: reasonMissing, Means: "its JobWorkspace or the JobTemplate is not there",
			Cure: "create what the message names: then it goes on"},
		{Type: condition.Stalled, Reason: reasonRefused, Means: "the template cannot be used, or the parameters or the action do not fit it",
			Cure: "correct what the message names; then " + otherwise},
		{Type: condition.Stalled, Reason: reasonSuperseded, Means: "a newer JobRun was queued, and concurrency is SupersedeQueued",
			Cure: "nothing to do"},
	}
}
