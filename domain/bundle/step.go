package bundle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Pace is the time of a step, and its patience.
type Pace struct {
	Now time.Time
	// Deadline is how long an object may go without progress; 10 minutes where it is 0.
	Deadline time.Duration
}

func (p Pace) deadline() time.Duration { return cmp.Or(p.Deadline, defaultDeadline) }

const (
	defaultDeadline = 10 * time.Minute
	// crashLoop is the number of crashes of a container after which its workload has failed. A Job
	// counts for itself.
	crashLoop = 5
)

// Outcome is how far a plan has come.
type Outcome string

// The outcomes.
const (
	Progressing Outcome = "Progressing"
	Succeeded   Outcome = "Succeeded"
	Failed      Outcome = "Failed"
)

// Write is one object to be written. Without a ResourceVersion it is created, and must not exist;
// else it is applied at that version (BUNDLES.md 2).
type Write struct {
	Object          Object
	ResourceVersion string
	// Force are the paths that it may take from other managers; a conflict about others is an
	// error.
	Force []string
	// Adopts reports that the object is of others so far.
	Adopts bool
	// Fields are those that it sets, with their values before.
	Fields []OriginalField
}

// Deletion is one object to be deleted, if it is still that one.
type Deletion struct {
	ID                   ID
	UID, ResourceVersion string
	// Original has the values that the object gets back instead, if it was adopted; else nil.
	Original *Original
}

// Wait describes why an object waits, in words that do not change meanwhile.
type Wait struct {
	ID    ID
	Phase Phase
	// On is the object that it waits for; zero while the object itself is not ready.
	On  ID
	For string
	// Log is the one to read about it.
	Log Log
	// Since is zero where the object waits for another.
	Since time.Time
}

// String describes the object that holds this one up.
func (w Wait) String() string {
	switch {
	case w.On != ID{}:
		return w.On.String()
	case strings.HasPrefix(w.For, "is "), strings.HasPrefix(w.For, "waits "):
		return w.ID.String() + ", which " + w.For
	}
	return w.ID.String() + ": " + w.For
}

// Why returns what the object waits for, with the command that prints the log about it.
func (w Wait) Why() string { return w.Log.After(w.For) }

// Waiting describes the object that holds a plan up, preferably one that does not wait for others;
// it is empty if there is none.
func (n Next) Waiting() string {
	if len(n.Waits) == 0 {
		return ""
	}
	first := n.First()
	return first.Log.After("waiting for " + first.String())
}

// unhealthy reports whether an object is neither finished, nor one of so many that others
// have changed, nor waits for another one.
func (n Next) unhealthy(drifted int) bool {
	left := n.All - n.Finished - drifted
	for _, w := range n.Waits {
		if w.On != (ID{}) {
			left--
		}
	}
	return left > 0
}

// First returns the wait that Waiting describes; there is one.
func (n Next) First() Wait {
	for _, w := range n.Waits {
		if !w.Since.IsZero() {
			return w
		}
	}
	return n.Waits[0]
}

// Since is when the wait that Waiting describes began; zero where that is unknown.
func (n Next) Since() time.Time {
	if len(n.Waits) == 0 {
		return time.Time{}
	}
	return n.First().Since
}

// Failure is an object that will not become healthy.
type Failure struct {
	ID  ID
	Why string
	// Log is the one to read about it.
	Log Log
}

// String describes the failure, with the command that prints the log about it.
func (f Failure) String() string { return f.Log.After(f.ID.String() + ": " + f.Why) }

// Next has all that is written now, in any order. The next step is decided afterwards, from the
// live state.
type Next struct {
	Outcome  Outcome
	Delete   []Deletion
	Apply    []Write
	Waits    []Wait
	Failures []Failure
	// Relabel are objects that lack nothing but their label, which is not drift.
	Relabel []Write
	// Completed are the runs of Jobs to be recorded (Record.Complete).
	Completed []ID
	// Assumed are finished objects whose health is not known (CONTENT.md H5).
	Assumed []Assumption
	// Finished and All count objects.
	Finished, All int
}

// Step decides the next writes of a plan; live has each object of the plan and of the inventory.
// It depends only on stored and live state, so that a process that was killed continues where it
// was (BUNDLES.md 8).
func Step(p Plan, r Record, live map[ID]Live, pace Pace) Next {
	s := newStepping(p, r, live, pace)
	s.left()
	for _, item := range p.Sequence {
		s.count(item)
	}
	for _, item := range p.Sequence {
		if !s.finished[item.ID] {
			s.item(item)
		}
	}
	s.next.Assumed = p.Sequence.assumed(s.finished, live)
	switch {
	case len(s.next.Failures) > 0:
		s.next.Outcome, s.next.Apply, s.next.Delete = Failed, nil, nil
	case s.next.Finished == s.next.All:
		s.next.Outcome = Succeeded
	}
	return s.next
}

// Correct returns the writes that undo changes and deletions by others in a revision that has
// succeeded, all at once, since every object was there before (BUNDLES.md 12). A failure does not
// begin a way back.
func Correct(p Plan, r Record, live map[ID]Live, pace Pace) Next {
	s := newStepping(p, r, live, pace)
	s.settled = true
	for _, item := range p.Sequence {
		l := live[item.ID]
		if len(l.Changes) > 0 && !item.job() && s.current(item, l) {
			s.next.Relabel = append(s.next.Relabel, item.write(p.Owner, s.actions[item.ID], l))
		}
		switch {
		case s.isFinished(item):
			s.finished[item.ID] = true
			s.next.Finished++
		case s.current(item, l):
			s.await(item, l)
		default:
			s.write(item, l)
		}
	}
	s.next.Assumed = p.Sequence.assumed(s.finished, live)
	if s.next.Finished == s.next.All {
		s.next.Outcome = Succeeded
	}
	return s.next
}

func newStepping(p Plan, r Record, live map[ID]Live, pace Pace) *stepping {
	s := &stepping{Plan: p, record: r, live: live, pace: pace, barrier: Jobs + 1,
		finished: map[ID]bool{}, actions: map[ID]Action{}, next: Next{Outcome: Progressing, All: len(p.Sequence)}}
	for _, a := range p.Actions {
		s.actions[a.ID] = a
	}
	return s
}

// stepping is one run of Step.
type stepping struct {
	Plan
	record Record
	live   map[ID]Live
	pace   Pace
	// barrier is the first phase that is not finished, and blocker what it waits for.
	barrier  Phase
	blocker  ID
	finished map[ID]bool
	actions  map[ID]Action
	next     Next
	// settled reports that the revision has succeeded before.
	settled bool
}

// count notes whether an item is finished, and what its phase means for the others.
func (s *stepping) count(item Item) {
	if s.isFinished(item) {
		s.finished[item.ID] = true
		s.next.Finished++
	} else if item.Phase < s.barrier {
		s.barrier, s.blocker = item.Phase, item.ID
	}
}

func (s *stepping) isFinished(item Item) bool {
	l := s.live[item.ID]
	switch {
	case l.NoAPI && item.Optional:
		return true
	case item.job():
		return s.ran(item, l)
	case item.Kept && l.Object != nil:
		return true
	case !s.current(item, l):
		return false
	}
	return l.Health == Ready || l.Health == Unknown && (s.settled || s.late(l))
}

// ran reports whether a Job need not run any more. It records its completion, since the Job may be
// deleted later.
func (s *stepping) ran(item Item, l Live) bool {
	switch {
	case s.record.completed(item):
		return true
	case s.current(item, l) && ended(l.Object) == complete:
		s.next.Completed = append(s.next.Completed, item.run())
		return true
	}
	return item.Kept
}

// left records the completion of Jobs that are no longer in the bundle, such as those of a failed
// revision: they do not run again if they return.
func (s *stepping) left() {
	for _, e := range left(s.record.Inventory, s.Sequence) {
		item := Item{ID: e.ID, Origin: e.Origin}
		l := s.live[e.ID]
		item.Run = RunPolicy(l.Object.Annotation(RunKey))
		situation, _ := l.Situation(s.Owner)
		if item.job() && situation == Ours && ended(l.Object) == complete && !s.record.completed(item) {
			s.next.Completed = append(s.next.Completed, item.run())
		}
	}
}

// current reports whether the item is applied. A Job is never changed.
func (s *stepping) current(item Item, l Live) bool {
	if item.job() {
		l.Changes = nil
	}
	return item.applied(s.Owner, l) && !s.replaced(item, l)
}

// replaced reports whether the live object is deleted before the item is created.
func (s *stepping) replaced(item Item, l Live) bool {
	return l.Object != nil && s.actions[item.ID].Replaces == l.uid() && l.uid() != ""
}

// item adds the wait or the write of an unfinished item.
func (s *stepping) item(item Item) {
	l := s.live[item.ID]
	if s.current(item, l) {
		s.await(item, l)
		return
	}
	if item.Phase > s.barrier {
		s.wait(item, s.blocker, fmt.Sprintf("%s (phase %s)", s.blocker, s.barrier))
		return
	}
	for _, e := range item.After {
		if !s.reached(item, e) {
			return
		}
	}
	s.write(item, l)
}

func (s *stepping) wait(item Item, on ID, why string) {
	s.next.Waits = append(s.next.Waits, Wait{ID: item.ID, Phase: item.Phase, On: on, For: why})
}

// await judges an item that is applied and not healthy yet.
func (s *stepping) await(item Item, l Live) {
	switch {
	case item.job() && ended(l.Object) == failed:
		s.fail(item.ID, l, "the Job failed: "+cmp.Or(l.Says, "see the logs of its pods"))
	case !item.job() && (l.Health == Broken || l.Health == Failing && s.settled):
		s.fail(item.ID, l, cmp.Or(l.Says, "its own status reports a failure"))
	case !item.job() && l.Restarts >= crashLoop:
		s.fail(item.ID, l, fmt.Sprintf("a container keeps crashing (%d times so far): %s", l.Restarts, cmp.Or(l.Says, "see its log")))
	default:
		s.patience(item, l, cmp.Or(l.Says, unready(item, l)))
	}
}

// unready describes an object that reports no trouble and is not ready.
func unready(item Item, l Live) string {
	if !item.job() {
		return "is not ready yet"
	}
	number := func(path ...string) int64 {
		switch n := l.Object.At(path...).(type) {
		case int64:
			return n
		case float64:
			return int64(n)
		}
		return 0
	}
	return fmt.Sprintf("is running (%d of %d completed)", number("status", "succeeded"), max(1, number("spec", "completions")))
}

func (s *stepping) fail(id ID, l Live, why string) {
	s.next.Failures = append(s.next.Failures, Failure{ID: id, Why: why, Log: l.Log})
}

// patience waits for an object, and fails when there was no progress for too long.
func (s *stepping) patience(item Item, l Live, why string) {
	s.next.Waits = append(s.next.Waits, Wait{ID: item.ID, Phase: item.Phase, For: why, Log: l.Log, Since: l.Since})
	if s.late(l) {
		s.fail(item.ID, l, fmt.Sprintf("no progress for %s: %s", s.pace.deadline(), why))
	}
}

// late reports whether there was no progress for too long.
func (s *stepping) late(l Live) bool {
	return !l.Since.IsZero() && s.pace.Now.Sub(l.Since) >= s.pace.deadline()
}

// reached reports whether an edge of an item is satisfied, and adds a wait if not.
func (s *stepping) reached(item Item, e Edge) bool {
	l := s.live[e.To]
	switch {
	case !s.finished[e.To]:
		s.wait(item, e.To, fmt.Sprintf("%s (%s)", e.To, e.Why))
		return false
	case e.Serving && !l.Serving && !s.absent(e.To):
		s.patience(item, l, fmt.Sprintf("%s to answer (%s): %s", e.To, e.Why, cmp.Or(l.Says, "no endpoint is ready")))
		return false
	}
	return true
}

// absent reports whether an object is left out of this cluster.
func (s *stepping) absent(id ID) bool { return s.live[id].NoAPI }

// write adds the write of an item, or first the deletion of the object that it replaces.
func (s *stepping) write(item Item, l Live) {
	action := s.actions[item.ID]
	situation, holder := l.Situation(s.Owner)
	switch {
	case l.Object != nil && l.leaving():
		s.patience(item, l, l.ending())
		return
	case s.replaced(item, l) && situation == Ours: // it has the owner that the plan saw
		if l.Says != "" {
			s.patience(item, l, l.Says)
		}
		s.next.Delete = append(s.next.Delete, deletion(item.ID, l))
		return
	case !action.covers(situation), s.settled && situation == Another: // which took it since, by a plan of its own
		s.fail(item.ID, Live{}, fmt.Sprintf("it already exists and %s, which the plan did not expect: plan again", managedBy(holder)))
		return
	}
	if s.precedes(item, action.Follows) {
		return
	}
	if l.Says != "" {
		s.patience(item, l, l.Says)
	}
	w := item.write(s.Owner, action, l)
	w.Adopts = w.Adopts && !s.settled // one that only lost its marks keeps the values that it had before
	s.next.Apply = append(s.next.Apply, w)
}

// write returns the write that makes the live object the item's.
func (i Item) write(owner string, a Action, l Live) Write {
	situation, _ := l.Situation(owner)
	return Write{Object: i.marked(owner), ResourceVersion: l.Object.Text("metadata", "resourceVersion"), Force: force(a, l),
		Adopts: situation == Unowned || situation == Foreign, Fields: l.Fields}
}

// covers reports whether the action was planned for an object in this situation.
func (a Action) covers(s Situation) bool {
	return s == Absent || s == Ours || a.Verb == Take || a.Verb == Adopt && s == Unowned
}

// force returns the paths that the plan lists, and those of this deployment that others have
// changed since.
func force(a Action, l Live) []string {
	paths := slices.Concat(a.Force, forced(l.Changes, false))
	slices.Sort(paths)
	return slices.Compact(paths)
}

func deletion(id ID, l Live) Deletion {
	return Deletion{ID: id, UID: l.uid(), ResourceVersion: l.Object.Text("metadata", "resourceVersion")}
}
