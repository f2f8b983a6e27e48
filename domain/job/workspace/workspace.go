package workspace

import (
	"errors"
	"slices"
	"strings"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
)

// The reasons of refusals, which errors wrap.
var (
	// ErrHeld means that another run, pod or node holds the lock, or that the Run was already admitted.
	ErrHeld = errors.New("the lock is held")
	// ErrStale means that the hold is past: the sender must stop its process, and keep its state as an orphan.
	ErrStale = errors.New("the fence is past")
	// ErrChanged means that a person decided about a state that is no longer the current one.
	ErrChanged = errors.New("the state has changed since it was looked at")
	// ErrSettled means that a person accepted what needs no acceptance.
	ErrSettled = errors.New("nothing is to be accepted")
	// ErrWaits means that a person must decide first.
	ErrWaits = errors.New("a decision is needed")
	// ErrAhead means that the store holds more than the Workspace knows (JOBS.md J20).
	ErrAhead = errors.New("the store is ahead")
	// ErrEarly means that not enough time has passed.
	ErrEarly = errors.New("it is too early")
	// ErrInvalid means that the request fits no rule at any time.
	ErrInvalid = errors.New("the request is invalid")
)

// Workspace is the lock and the state lineage of runs that follow each other.
type Workspace struct {
	// Name is the namespace and name, for messages.
	Name  string
	Terms Terms
	// Fence is the highest fence that was used.
	Fence int64
	// Lock is the hold; its zero value is a free lock.
	Lock Lock
	// State is the current generation; number 0 is the empty state.
	State Generation
	// Kept are earlier generations, newest first.
	Kept []Generation
	// Checkpoint is the last consistent one of the hold; before there is one, the last torn one.
	Checkpoint Checkpoint
	// Orphans are states that are not generations, in the order of their arrival.
	Orphans []Orphan
	// Last is the end of the last hold of a Run.
	Last Ended
	// Plan is the newest plan; its zero value is none.
	Plan Plan
}

// Terms are the settings of a Workspace.
type Terms struct {
	Safety job.Safety
	Timing job.Timing
	// Keep is the number of earlier generations that are kept; 0 means 20.
	Keep int
	// Approval has runs change something by plans alone that a person has approved.
	Approval bool
}

// Named returns the name of a Run of a Workspace as commands take it: with its namespace, if that is known.
func Named(w Workspace, run string) string {
	namespace, _, known := strings.Cut(w.Name, "/")
	if !known {
		return run
	}
	return namespace + "/" + run
}

// keep returns how many earlier generations are kept.
func (t Terms) keep() int {
	const usual = 20
	if t.Keep <= 0 {
		return usual
	}
	return t.Keep
}

// Run identifies a Run.
type Run struct {
	// UID is unique for ever; Name is for messages.
	UID, Name string
	// Person reports that the hold is a person's change of the state, by `orcon job state push`.
	Person bool
}

// String returns the name.
func (r Run) String() string {
	if r.Person {
		return "the push of " + r.Name
	}
	return "Run " + r.Name
}

// Claimant identifies what may start the process: the UID of a pod, or the name of a node.
type Claimant struct {
	ID string
	// Where is the node or machine, for messages.
	Where string
}

// Lock is the hold of a Run.
type Lock struct {
	Run     Run
	Attempt int
	Fence   int64
	// Base is the generation that the attempt begins from.
	Base int64
	// Claimant is empty until the process may have started.
	Claimant Claimant
	// Since is when the Run was admitted, for messages.
	Since time.Time
	// Safety and Timing are those of the Workspace at that time: a change counts for the next hold.
	Safety job.Safety
	Timing job.Timing
	// Recovery is set while a person must decide.
	Recovery Recovery
	// GivenUp reports that a process of an earlier attempt may have run, and that a person gave it up and had the Run
	// tried again.
	GivenUp bool
}

// Held reports whether there is a holder.
func (l Lock) Held() bool { return l.Fence != 0 }

// sum returns the end of a Run whose last attempt ended so. Where that one had no process, and an earlier one was given up,
// nothing is known.
func (l Lock) sum(outcome job.Outcome, exit job.Exit) (job.Outcome, job.Exit) {
	if outcome == job.None && l.GivenUp {
		return job.Unknown, job.Exit{Cause: job.Unreported}
	}
	return outcome, exit
}

// ClaimedBy reports whether a claimant carries a Run out.
func (l Lock) ClaimedBy(r Run, claimant string) bool {
	return l.Held() && l.Run == r && claimant != "" && l.Claimant.ID == claimant
}

// Recovery tells why a hold needs a person's decision; the zero value means that it needs none.
type Recovery struct {
	Reason Reason
	// Outcome and Exit are those that the holder reported, if it did.
	Outcome job.Outcome
	Exit    job.Exit
}

// Reason is a word for conditions.
type Reason string

// The reasons.
const (
	// Silent means that the holder sent no renewal for too long.
	Silent Reason = "Silent"
	// Vanished means that the pod ended and reported no outcome.
	Vanished Reason = "Vanished"
	// CaptureFailed means that the holder could not commit the state.
	CaptureFailed Reason = "CaptureFailed"
	// StateTooLarge means that the state is larger than its Workspace permits, and is kept as an orphan.
	StateTooLarge Reason = "StateTooLarge"
)

// Blob is a stored archive. Its key lies under the Workspace and the fence of the hold that wrote it.
type Blob struct {
	// Digest is that of the plain archive; empty for the empty state.
	Digest string
	Key    string
	Fence  int64
}

// Generation is one state of the lineage.
type Generation struct {
	Number int64
	// Base is the generation that the committer began from.
	Base int64
	Blob
	// Exit tells how the process that left it ended.
	Exit job.Exit
	// Accepted reports that a person accepted the state of a process that was killed.
	Accepted bool
	// Author is the Run or person that made it.
	Author string
}

// Checkpoint is a state in the middle of a hold.
type Checkpoint struct {
	Blob
	Sequence int64
	// Torn means that a process may have been writing.
	Torn bool
}

// Orphan is a stored state that is not a generation.
type Orphan struct {
	Blob
	Base   int64
	Author string
	Exit   job.Exit
	// Torn means that it is the checkpoint of a process that may have been writing.
	Torn  bool
	Since time.Time
	// Discarded means that a person does not need it; it may be collected.
	Discarded bool
}

// Ended records the end of a hold of a Run.
type Ended struct {
	Run     Run
	Attempt int
	Fence   int64
	Outcome job.Outcome
	Exit    job.Exit
}

// Extent is how far the store reaches: the highest fence that it holds anything of, and the highest generation that
// it holds a record of. Those of Runs count too: the highest fence in their status.
type Extent struct {
	Fence, Generation int64
	// Left is the newest generation that a Workspace of the same name left in the store when it went; 0 for none. It
	// counts until a fence was used.
	Left int64
}

// release returns a Workspace without a hold, whose last end is recorded. A push leaves that of the last Run.
func release(w Workspace, outcome job.Outcome, exit job.Exit) Workspace {
	if !w.Lock.Run.Person {
		w.Last = Ended{w.Lock.Run, w.Lock.Attempt, w.Lock.Fence, outcome, exit}
	}
	if outcome == job.None {
		w = unapplied(w)
	}
	w.Lock, w.Checkpoint = Lock{}, Checkpoint{}
	return w
}

// advance returns a Workspace whose state is a new generation, whose number and base are set here.
func advance(w Workspace, g Generation) Workspace {
	g.Number, g.Base = w.State.Number+1, w.State.Number
	w.Kept = slices.Insert(slices.Clone(w.Kept), 0, w.State)
	w.Kept = slices.Clip(w.Kept[:min(len(w.Kept), w.Terms.keep())])
	w.State = g
	return w
}

// committed reports whether an archive is that of a generation.
func committed(w Workspace, b Blob) bool {
	return w.State.Blob == b || slices.ContainsFunc(w.Kept, func(g Generation) bool { return g.Blob == b })
}

// Names reports whether the Workspace refers to a blob.
func (w Workspace) Names(key string) bool {
	is := func(b Blob) bool { return b.Key == key }
	return is(w.State.Blob) || is(w.Checkpoint.Blob) || is(w.Plan.Blob) ||
		slices.ContainsFunc(w.Kept, func(g Generation) bool { return is(g.Blob) }) ||
		slices.ContainsFunc(w.Orphans, func(o Orphan) bool { return is(o.Blob) })
}
