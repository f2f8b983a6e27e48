package check

import (
	"fmt"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// The reasons of condition Drifted.
const (
	Drifted         = "Drifted"
	InSync          = "InSync"
	Unchecked       = "Unchecked"
	Failed          = "CheckFailed"
	ScheduleInvalid = "ScheduleInvalid"
)

// drift is the exit code of a check that found a difference, as that of tofu plan -detailed-exitcode.
const drift = 2

// Last is the last check that has ended; its zero value is none.
type Last struct {
	// Run is its name.
	Run string
	// Fence is that of its hold; 0 if it never got the lock.
	Fence int64
	Exit  job.Exit
}

// Condition returns whether what is there differs from the state. What is not known counts as no drift, by a reason.
func (l Last) Condition(w workspace.Workspace) condition.Condition {
	no := func(reason, format string, args ...any) condition.Condition {
		return condition.New(condition.Drifted, false, reason, fmt.Sprintf(format, args...))
	}
	switch {
	case l.Run == "":
		return no(Unchecked, "no check has ended yet")
	case l.Fence == 0:
		return no(Failed, "JobRun %s did not run, so that nothing is known: its status shows why", l.Run)
	case w.State.Fence > l.Fence:
		return no(Unchecked, "the state has changed since JobRun %s checked: the next check compares it again", l.Run)
	case l.Exit == job.Exit{Code: drift}:
		return condition.New(condition.Drifted, true, Drifted, fmt.Sprintf("JobRun %s found that what is there differs from the state: "+
			"`orcon job logs %s` shows what", l.Run, workspace.Named(w, l.Run)))
	case !l.Exit.Success():
		return no(Failed, "JobRun %s ended with %s, so that nothing is known: `orcon job logs %s`", l.Run, l.Exit, workspace.Named(w, l.Run))
	}
	return no(InSync, "JobRun %s found no difference", l.Run)
}

// Invalid returns the condition of a Workspace whose schedule cannot be read.
func Invalid(err error) condition.Condition {
	return condition.New(condition.Drifted, false, ScheduleInvalid, err.Error())
}

// Meanings returns every reason of condition Drifted.
func Meanings() []condition.Meaning {
	return []condition.Meaning{
		{Type: condition.Drifted, Reason: Drifted, Means: "the last check found a difference between the state and what is there",
			Cure: "see its log; then run the JobWorkspace again, or change its parameters"},
		{Type: condition.Drifted, Reason: InSync, Means: "it is False: the last check found no difference", Cure: "nothing to do"},
		{Type: condition.Drifted, Reason: Unchecked, Means: "it is False: nothing was checked since the state changed",
			Cure: "wait for the next check"},
		{Type: condition.Drifted, Reason: Failed, Means: "it is False: the last check failed", Cure: "see the JobRun in the message"},
		{Type: condition.Drifted, Reason: ScheduleInvalid, Means: "it is False: `spec.check.schedule` cannot be read, so that nothing is checked",
			Cure: "correct it as the message advises"},
	}
}
