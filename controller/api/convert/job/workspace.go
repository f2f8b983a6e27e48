package job

import (
	"cmp"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/value"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// ToTerms returns the settings of a Workspace. Safety is that of its template.
func ToTerms(spec v1alpha1.JobWorkspaceSpec, safety job.Safety) workspace.Terms {
	timing := job.DefaultTiming()
	if spec.LostAfter != nil {
		timing.Lost = spec.LostAfter.Duration
	}
	if spec.CancelGracePeriod != nil {
		timing.Grace = spec.CancelGracePeriod.Duration
	}
	return workspace.Terms{
		Safety: safety, Timing: timing, Keep: int(spec.KeepGenerations), Approval: spec.Approval == v1alpha1.ApprovalPlan,
	}
}

// ToHold returns how long the container of a run that has failed is kept; 0 for not at all.
func ToHold(spec v1alpha1.JobWorkspaceSpec) time.Duration {
	if spec.HoldOnFailure == nil {
		return 0
	}
	return spec.HoldOnFailure.Duration
}

// ToCapture returns how many bytes the archive of a state may have, and the time between checkpoints; 0 for the defaults.
func ToCapture(spec v1alpha1.JobWorkspaceSpec) (limit int64, checkpoint time.Duration, err error) {
	s := spec.State
	if s == nil {
		return 0, 0, nil
	}
	if s.CheckpointInterval != nil {
		checkpoint = s.CheckpointInterval.Duration
	}
	if s.MaxSize == "" {
		return 0, checkpoint, nil
	}
	size, err := resource.ParseQuantity(s.MaxSize)
	if err == nil && (size.Value() < 1<<20 || size.Value() > job.MaxState) {
		err = errors.New("use 1Mi to 512Mi")
	}
	return size.Value(), checkpoint, within("spec.state.maxSize", err)
}

// ToConcurrency returns what happens to a Run that is created beside another one.
func ToConcurrency(spec v1alpha1.JobWorkspaceSpec) job.Concurrency {
	return cmp.Or(job.Concurrency(spec.Concurrency), job.Queue)
}

// ToWorkspace returns a Workspace with its lock and its states. The error names each field that cannot be read: nothing
// may be written then, since that would lose what the field holds.
func ToWorkspace(o *v1alpha1.JobWorkspace, safety job.Safety) (workspace.Workspace, error) {
	w := workspace.Workspace{Name: o.Namespace + "/" + o.Name, Terms: ToTerms(o.Spec, safety)}
	if o.State == nil {
		return w, nil
	}
	r := reader{}
	w.Fence = o.State.Fence
	w.Lock = r.lock("state.lock", o.State.Lock)
	w.State = r.generation("state.generation", o.State.Generation)
	for i, g := range o.State.Kept {
		w.Kept = append(w.Kept, r.generation(at("state.kept", i), &g))
	}
	w.Checkpoint = r.checkpoint("state.checkpoint", o.State.Checkpoint)
	for i, orphan := range o.State.Orphans {
		w.Orphans = append(w.Orphans, r.orphan(at("state.orphans", i), orphan))
	}
	if end := o.State.LastEnd; end != nil {
		w.Last = workspace.Ended{
			Run: r.run("state.lastEnd.run", end.Run), Attempt: int(end.Attempt), Fence: end.Fence,
			Outcome: r.outcome("state.lastEnd.outcome", end.Outcome), Exit: r.exit("state.lastEnd.exit", end.Exit),
		}
	}
	w.Plan = r.plan("state.plan", o.State.Plan)
	return w, errors.Join(r.faults...)
}

// SetWorkspace writes the lock and the states of a Workspace into its object. Times are kept in seconds.
func SetWorkspace(o *v1alpha1.JobWorkspace, w workspace.Workspace) {
	state := &v1alpha1.JobWorkspaceState{
		Fence: w.Fence, Lock: forLock(w.Lock), Checkpoint: forCheckpoint(w.Checkpoint), LastEnd: forEnded(w.Last), Plan: forPlan(w.Plan),
	}
	if w.State != (workspace.Generation{}) {
		g := forGeneration(w.State)
		state.Generation = &g
	}
	for _, g := range w.Kept {
		state.Kept = append(state.Kept, forGeneration(g))
	}
	for _, orphan := range w.Orphans {
		state.Orphans = append(state.Orphans, forOrphan(orphan))
	}
	o.State = state
}

func forLock(l workspace.Lock) *v1alpha1.JobLock {
	if l == (workspace.Lock{}) {
		return nil
	}
	lock := &v1alpha1.JobLock{
		Run: forRun(l.Run), Attempt: value.FromInt(l.Attempt), Fence: l.Fence, Base: l.Base, Since: seconds(l.Since),
		Safety: forWord(l.Safety, safeties), LostAfter: metav1.Duration{Duration: l.Timing.Lost},
		CancelGracePeriod: metav1.Duration{Duration: l.Timing.Grace}, Earlier: choice(l.GivenUp, v1alpha1.EarlierGivenUp),
	}
	if l.Claimant != (workspace.Claimant{}) {
		lock.Claimant = &v1alpha1.JobClaimant{ID: l.Claimant.ID, Where: l.Claimant.Where}
	}
	if r := l.Recovery; r != (workspace.Recovery{}) {
		lock.Recovery = &v1alpha1.JobRecovery{Reason: string(r.Reason), Outcome: forWord(r.Outcome, outcomes), Exit: forExit(r.Exit)}
	}
	return lock
}

func forRun(r workspace.Run) v1alpha1.JobHolder {
	return v1alpha1.JobHolder{UID: r.UID, Name: r.Name, Origin: choice(r.Person, v1alpha1.OriginPush)}
}

func forGeneration(g workspace.Generation) v1alpha1.JobGeneration {
	return v1alpha1.JobGeneration{
		Number: g.Number, Base: g.Base, Archive: forBlob(g.Blob), Exit: forExit(g.Exit),
		Acceptance: choice(g.Accepted, v1alpha1.AcceptanceAccepted), Author: g.Author,
	}
}

func forCheckpoint(c workspace.Checkpoint) *v1alpha1.JobCheckpoint {
	if c == (workspace.Checkpoint{}) {
		return nil
	}
	return &v1alpha1.JobCheckpoint{Archive: forBlob(c.Blob), Sequence: c.Sequence, Consistency: choice(c.Torn, v1alpha1.ConsistencyTorn)}
}

func forOrphan(o workspace.Orphan) v1alpha1.JobOrphan {
	return v1alpha1.JobOrphan{
		Archive: forBlob(o.Blob), Base: o.Base, Author: o.Author, Exit: forExit(o.Exit),
		Consistency: choice(o.Torn, v1alpha1.ConsistencyTorn), Since: seconds(o.Since),
		Decision: choice(o.Discarded, v1alpha1.DecisionDiscarded),
	}
}

func forEnded(e workspace.Ended) *v1alpha1.JobEnd {
	if e == (workspace.Ended{}) {
		return nil
	}
	return &v1alpha1.JobEnd{
		Run: forRun(e.Run), Attempt: value.FromInt(e.Attempt), Fence: e.Fence, Outcome: forWord(e.Outcome, outcomes), Exit: forExit(e.Exit),
	}
}

func forPlan(p workspace.Plan) *v1alpha1.JobPlan {
	if p == (workspace.Plan{}) {
		return nil
	}
	plan := &v1alpha1.JobPlan{Run: forRun(p.Run), Input: p.Input, Generation: p.Generation}
	if archive := forBlob(p.Blob); archive != nil {
		plan.Archive = *archive
	}
	if p.Applied != (workspace.Run{}) {
		by := forRun(p.Applied)
		plan.Applied = &by
	}
	return plan
}

func forBlob(b workspace.Blob) *v1alpha1.JobArchive {
	if b == (workspace.Blob{}) {
		return nil
	}
	return &v1alpha1.JobArchive{Digest: b.Digest, Key: b.Key, Fence: b.Fence}
}

func forExit(e job.Exit) *v1alpha1.JobExit {
	if e == (job.Exit{}) {
		return nil
	}
	return &v1alpha1.JobExit{Code: int32(max(min(e.Code, mostCode), -mostCode)), Cause: string(e.Cause)}
}

// mostCode bounds exit codes, which systems have up to 255.
const mostCode = 1 << 20

// choice returns the word of a field that is set if something is so.
func choice[A ~string](is bool, word A) A {
	if is {
		return word
	}
	return ""
}

// seconds returns a time as the API stores it.
func seconds(t time.Time) *metav1.Time { return value.FromTime(t.UTC().Truncate(time.Second)) }
