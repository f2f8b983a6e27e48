package run

import (
	"cmp"
	"fmt"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// Phase is the phase of a Run.
type Phase string

// The phases. A Run in one of the last five, and one that is Lost with an outcome, has ended.
const (
	Queued    Phase = "Queued"
	Starting  Phase = "Starting"
	Running   Phase = "Running"
	Capturing Phase = "Capturing"
	Lost      Phase = "Lost"
	Succeeded Phase = "Succeeded"
	Failed    Phase = "Failed"
	Cancelled Phase = "Cancelled"
	TimedOut  Phase = "TimedOut"
	Rejected  Phase = "Rejected"
)

// Status is the status of a Run.
type Status struct {
	Phase Phase
	// Reason and Message are those of its condition.
	Reason, Message string
	// Outcome is set exactly for a Run that has ended (JOBS.md J4).
	Outcome job.Outcome
	Exit    job.Exit
	Attempt int
	Fence   int64
}

// Ended reports whether the Run has ended.
func (s Status) Ended() bool { return s.Outcome != "" }

// Facts describe a Run as the controller sees it.
type Facts struct {
	Run workspace.Run
	// Published is the status that is stored.
	Published Status
	// Cancelled and TimedOut tell why its process was stopped, if it was.
	Cancelled, TimedOut bool
	Pod                 Pod
	// Problem tells what was wrong with the end of the process, such as why its state could not be committed; "" for nothing
	// that is known.
	Problem string
	// Delay is what the keeper of the current attempt has to try again.
	Delay  job.Delay
	Extent workspace.Extent
	// Obstacle tells why no Run can be admitted now, such as a store that does not answer; "" for no reason.
	Obstacle string
}

// Pod describes the pod, or container, of the current attempt as the controller sees it.
type Pod struct {
	// Made reports that it exists.
	Made bool
	// Progress tells how far it has started, such as "its pod waits for a node"; "" where that is not known.
	Progress string
	// Obstacle tells why it does not start, such as "ImagePullBackOff: manifest unknown".
	Obstacle string
	// Stopped reports that the process has ended, and the keeper is at work.
	Stopped bool
	// OutOfMemory reports that the kernel killed the process for lack of memory.
	OutOfMemory bool
	// Where is its node.
	Where string
}

// Derive returns the status of a Run. One that shows an end stays as it is.
func Derive(f Facts, w workspace.Workspace) Status {
	switch {
	case f.Published.Ended():
		return f.Published
	case w.Last.Run == f.Run:
		return ended(f, w)
	case w.Lock.Run != f.Run && f.Cancelled:
		return unstarted(Cancelled, "Cancelled", "it was cancelled before it started")
	case w.Lock.Run != f.Run:
		return queued(f, w)
	}
	s := held(f, w)
	s.Attempt, s.Fence = w.Lock.Attempt, w.Lock.Fence
	return s
}

// queued returns the status of a Run that waits for the lock.
func queued(f Facts, w workspace.Workspace) Status {
	s := Status{Phase: Queued, Reason: reasonNext, Message: "it starts next"}
	if err := w.Startable(f.Extent); err != nil {
		s.Reason, s.Message = reasonWaiting, err.Error()
	} else if f.Obstacle != "" {
		s.Reason, s.Message = reasonWaiting, f.Obstacle
	}
	return s
}

// Missing returns the status of a Run that cannot be frozen before something is there that its message names.
func Missing(message string) Status {
	return Status{Phase: Queued, Reason: reasonMissing, Message: message}
}

// Withdrawn returns the end of a Run that was cancelled while it waited for what is not there.
func Withdrawn(missing string) Status {
	return unstarted(Cancelled, string(Cancelled), "it was cancelled before it started: "+missing)
}

// Forsaken returns the end of a Run whose Workspace is gone. What it has made is removed.
func Forsaken(attempt int, fence int64) Status {
	if fence == 0 {
		return unstarted(Cancelled, string(Cancelled), "its JobWorkspace was deleted before it started")
	}
	return Status{
		Phase: Lost, Reason: string(Lost), Message: "its JobWorkspace was deleted, so that its end is not known",
		Outcome: job.Unknown, Exit: job.Exit{Cause: job.Unreported}, Attempt: attempt, Fence: fence,
	}
}

// Refused returns the end of a Run that cannot be frozen.
func Refused(err error) Status { return unstarted(Failed, reasonRefused, err.Error()) }

// held returns the status of the Run that holds the lock.
func held(f Facts, w workspace.Workspace) Status {
	l, named := w.Lock, workspace.Named(w, f.Run.Name)
	switch stop := f.stopping(); {
	case l.Recovery.Reason != "":
		return lost(f, w)
	case l.Claimant.ID == "" && f.Pod.Obstacle != "":
		message := fmt.Sprintf("%s; the run starts once that is corrected, and `orcon job cancel %s` ends it", f.Pod.Obstacle, named)
		return Status{Phase: Starting, Reason: reasonCannotStart, Message: message}
	case f.Delay.Why != "" && f.Delay.Stage == job.Preparing:
		message := fmt.Sprintf("its program has not started: %s; its keeper tries again, and `orcon job cancel %s` ends the run",
			f.Delay.Why, named)
		return Status{Phase: Starting, Reason: reasonCannotStart, Message: message}
	case l.Claimant.ID == "" && f.Pod.Made:
		return Status{Phase: Starting, Reason: reasonPodPending, Message: cmp.Or(f.Pod.Progress, beingMade)}
	case l.Claimant.ID == "":
		return Status{Phase: Starting, Reason: reasonAdmitted, Message: beingMade}
	case f.Delay.Why != "" && f.Delay.Stage == job.Concluding:
		return Status{Phase: Capturing, Reason: string(Capturing), Message: "its process has ended, and its state waits to be stored: " + f.Delay.Why}
	case f.Pod.Stopped:
		return Status{Phase: Capturing, Reason: string(Capturing), Message: "its process has ended, and its state is being stored"}
	case stop != "":
		message := fmt.Sprintf("its process on %s is being stopped; it has %s", l.Claimant.Where, l.Timing.Grace)
		return Status{Phase: Running, Reason: string(stop), Message: message}
	}
	message := "it runs on " + l.Claimant.Where
	if f.Delay.Why != "" {
		message += ", and its state cannot be stored now: " + f.Delay.Why
	}
	return Status{Phase: Running, Reason: string(Running), Message: message}
}

const beingMade = "its pod is being made"

// lost returns the status of a Run about which a person must decide.
func lost(f Facts, w workspace.Workspace) Status {
	l := w.Lock
	if l.Safety.Expires() {
		return Status{
			Phase: Lost, Reason: reasonExpiring,
			Message: fmt.Sprintf("%s: the lock of %s is released after %s of silence", reasons[l.Recovery.Reason], w.Name, l.Timing.Takeover()),
		}
	}
	return Status{
		Phase: Lost, Reason: string(l.Recovery.Reason),
		Message: fmt.Sprintf("%s: decide with `orcon job unlock %s --because TEXT --accept %s`, or --retry or --discard",
			plight(f, l), w.Name, workspace.Propose(w)),
	}
}

// plight describes why a person must decide.
func plight(f Facts, l workspace.Lock) string {
	why := reasons[l.Recovery.Reason]
	if l.Recovery.Reason == workspace.Silent || l.Recovery.Reason == workspace.Vanished {
		return fmt.Sprintf("%s; its process may still run on %s", why, cmp.Or(l.Claimant.Where, f.Pod.Where))
	}
	if f.Problem != "" {
		why += ": " + f.Problem
	}
	return fmt.Sprintf("its process has ended (%s), and %s", l.Recovery.Exit, why)
}

// reasons describes why a decision is needed.
//
//nolint:gochecknoglobals // a table
var reasons = map[workspace.Reason]string{
	workspace.Silent:        "it sends no renewals",
	workspace.Vanished:      "its pod ended without an outcome",
	workspace.CaptureFailed: "its state could not be committed",
	workspace.StateTooLarge: "its state is too large, and kept as an orphan",
}

// signalled is the first exit code of a process that a signal ended.
const signalled = 128

// ended returns the status of the Run whose end the Workspace records.
func ended(f Facts, w workspace.Workspace) Status {
	e := w.Last
	if e.Exit.Cause == job.Killed && f.Pod.OutOfMemory {
		e.Exit.Cause = job.OutOfMemory // which only the pod shows: a keeper sees no more than that the process is gone
	}
	s := Status{Outcome: e.Outcome, Exit: e.Exit, Attempt: e.Attempt, Fence: e.Fence}
	stop, named := f.stopping(), workspace.Named(w, f.Run.Name)
	switch {
	case e.Exit.Cause == job.Unreported:
		s.Phase, s.Message = Lost, "its end is not known: the Workspace goes on from generation "+fmt.Sprint(w.State.Number)
	case stop != "" && e.Exit.Cause == job.NotStarted:
		s.Phase, s.Message = stop, "it was stopped before its process started"
	case stop != "" && e.Exit.Cause == "" && e.Exit.Code < signalled: // by itself, or as it was asked: its code does not tell
		s.Phase, s.Message = stop, "its process has ended ("+e.Exit.String()+")"
	case stop != "":
		s.Phase, s.Message = stop, "its process was stopped ("+e.Exit.String()+")"
	case e.Exit.Success() && e.Outcome.Releases():
		s.Phase, s.Message = Succeeded, "it succeeded"
	case e.Exit.Cause == job.Killed:
		s.Phase, s.Message = Failed, "it was killed from outside, or for lack of memory: `orcon job logs "+named+"`"
	case e.Exit.Cause == job.OutOfMemory:
		s.Phase, s.Message = Failed, "the kernel killed it for lack of memory: raise the limit of its container "+
			"(`kubectl get limitranges`; on a RunNode flag --memory of its agent) or free memory on its node"
	default:
		s.Phase, s.Message = Failed, "it failed with "+e.Exit.String()+": `orcon job logs "+named+"`"
	}
	s.Reason = string(s.Phase)
	if s.Phase == Succeeded && w.Plan.Run == f.Run {
		s.Reason = reasonPlanned
		s.Message = fmt.Sprintf("its plan waits: `orcon job plan %[1]s` shows it, `orcon job approve %[1]s` has it applied", named)
	}
	if f.Problem != "" && stop == "" {
		s.Message += "; " + f.Problem
	}
	if e.Outcome != job.Unknown {
		s.Message += "; its state is " + string(e.Outcome)
	}
	return s
}

// stopping returns the phase of a Run that was stopped; empty for one that was not.
func (f Facts) stopping() Phase {
	switch {
	case f.Cancelled:
		return Cancelled
	case f.TimedOut:
		return TimedOut
	}
	return ""
}
