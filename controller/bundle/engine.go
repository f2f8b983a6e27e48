package bundle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Cluster is all that the engine needs of a cluster.
type Cluster interface {
	// Observe reads objects as they are now.
	Observe(ctx context.Context, look bundle.Look) (bundle.Seen, error)
	// Apply writes objects. An object in neither answer was changed by another writer since it was looked at.
	Apply(ctx context.Context, writes []bundle.Write) (written []bundle.ID, refused map[bundle.ID]error)
	// Delete deletes objects that are still those that were looked at.
	Delete(ctx context.Context, deletions []bundle.Deletion) (refused map[bundle.ID]error)
}

// Store keeps what is stored about one deployment.
type Store interface {
	// Load reads the record, which is empty where nothing is installed.
	Load(ctx context.Context) (bundle.Record, error)
	// Plan reads what a revision consists of.
	Plan(ctx context.Context, revision int) (bundle.Plan, error)
	// Save writes the record, and with it the content of its last revision, if that is given.
	Save(ctx context.Context, r bundle.Record, content *bundle.Plan) error
	// Unmoved returns an error if another process has written the record since it was read or written here, as far as
	// that can be known.
	Unmoved(ctx context.Context) error
	// Remove forgets everything.
	Remove(ctx context.Context) error
}

// Engine works on one deployment. It is for one goroutine.
type Engine struct {
	Cluster Cluster
	Store   Store
	// Owner is the deployment, as namespace/name; UID is that of the object that stands for
	// it, if there is one; Identity tells its cluster from others.
	Owner, UID, Identity string
	// Gate lists the checks that plans have to pass; its clock is set.
	Gate bundle.Gate
	// Library is the version of the probes by which the cluster judges objects.
	Library string
	// Patience is how long one object may go without progress; 10 minutes where it is 0.
	Patience time.Duration
	// History is how many revisions are kept; 10 where it is 0.
	History int
	// NoWayBack leaves what has failed as it is.
	NoWayBack bool
	// KindChange is that of bundle.Intent, and Conflicts and ConfirmKinds are those of a way back.
	KindChange   bundle.KindChange
	Conflicts    bundle.ConflictPolicy
	ConfirmKinds []string
	// SkipJobs names Jobs that an uninstallation does not run.
	SkipJobs []bundle.Target
	// LogHint says what would have kept a log that the way back deletes; empty where nothing does.
	LogHint string
	// Kept reports that the caller calls Keep from time to time: then a run that has succeeded does not wait until
	// objects that left the bundle are deleted.
	Kept bool
	// Timeout is how long a run may take, and the way back after it as long again; 15
	// minutes where it is 0.
	Timeout time.Duration
	// Pause is between two looks when there was nothing to write; a second where it is 0.
	Pause time.Duration
	// Until is when a step begins to write nothing more; zero where it has all the time.
	Until time.Time
	// Cache saves requests between the steps of a run; nil for an empty one.
	Cache *Cache
	// Tell hears how far a run has come, after each look.
	Tell func(Progress)
	Now  func() time.Time

	record bundle.Record
}

// Progress is how far a run has come.
type Progress struct {
	// Revision is the revision that is carried out; 0 while everything is removed.
	Revision int
	// Back says that it is a way back.
	Back bool
	// Next lists the writes of this step, and the waits.
	Next bundle.Next
	// Trouble is why the cluster could not be looked at.
	Trouble error
}

// Wish is a request for a deployment.
type Wish struct {
	Sequence  bundle.Sequence
	Conflicts bundle.ConflictPolicy
	// Probes, ConfirmKinds and MaxDeletions are those of bundle.Intent.
	Probes       []bundle.Probe
	ConfirmKinds []string
	MaxDeletions int
	// Uninstall requests that everything is removed.
	Uninstall bool
	// Retry takes the content out of quarantine.
	Retry bool
}

// ErrTimeout says that there was not enough time.
var ErrTimeout = errors.New("timed out")

// FailedError says that a revision has failed, and what became of it.
type FailedError struct {
	Revision int
	Why      string
	// Back is the revision that is active and healthy again; 0 where there is none.
	Back int
	// Late says that it failed because time was up: the error is also ErrTimeout then.
	Late bool
}

// Unwrap returns ErrTimeout where time was up.
func (e *FailedError) Unwrap() error {
	if e.Late {
		return ErrTimeout
	}
	return nil
}

// Error says what stands now, and what to do.
func (e *FailedError) Error() string {
	if e.Back == 0 {
		return fmt.Sprintf("revision %d failed: %s; there is no earlier healthy revision to go back to, so its objects stay: install a "+
			"corrected bundle, or uninstall", e.Revision, e.Why)
	}
	return fmt.Sprintf("revision %d failed: %s; the last healthy content is back as revision %d", e.Revision, e.Why, e.Back)
}

// Record returns what is stored, as the engine last knew it.
func (e *Engine) Record() bundle.Record { return e.record }

// Load reads what is stored.
func (e *Engine) Load(ctx context.Context) (err error) {
	e.record, err = e.Store.Load(ctx)
	return err
}

// Plan returns what would be done, and writes nothing. The error names every object that
// the API server would refuse.
func (e *Engine) Plan(ctx context.Context, w Wish) (p bundle.Plan, err error) {
	if err := e.Load(ctx); err != nil {
		return p, err
	}
	return e.draft(ctx, w, 0)
}

func (e *Engine) draft(ctx context.Context, w Wish, back int) (p bundle.Plan, err error) {
	var before bundle.Sequence
	if !w.Uninstall { // which needs no content, and may find that there is none any more
		if before, err = e.applied(ctx); err != nil {
			return p, err
		}
	}
	look := w.Sequence.Look(e.Owner, e.record, before)
	look.Preflight = true
	seen, err := e.Cluster.Observe(ctx, look)
	if err != nil {
		return p, err
	}
	var refused []error
	for _, id := range slices.SortedFunc(maps.Keys(seen.Refused), bundle.ID.Compare) {
		refused = append(refused, fmt.Errorf("cannot plan %s: %w", id, seen.Refused[id]))
	}
	if len(refused) > 0 {
		return p, errors.Join(refused...)
	}
	return bundle.NewPlan(bundle.Intent{
		Cluster: e.Identity, UID: cmp.Or(e.UID, e.Owner), Owner: e.Owner, Sequence: w.Sequence, Live: seen.Live,
		Record: e.record, Conflicts: w.Conflicts, Probes: w.Probes, ConfirmKinds: w.ConfirmKinds, MaxDeletions: w.MaxDeletions, KindChange: e.KindChange, Uninstall: w.Uninstall,
		Skip: e.SkipJobs,
		Back: back,
		Now:  e.Now(),
	})
}

// applied returns the sequence that this deployment applied last, wholly or in part.
func (e *Engine) applied(ctx context.Context) (bundle.Sequence, error) {
	last := e.record.Begun()
	if last.Number == 0 {
		return nil, nil
	}
	p, err := e.Store.Plan(ctx, last.Number)
	return p.Sequence, err
}

// Propose stores a plan that was made for a wish and waits for approval. The same plan again changes nothing. A content that
// is tried again stays in quarantine until it begins.
func (e *Engine) Propose(ctx context.Context, p bundle.Plan, w Wish) error {
	record := e.record
	if w.Retry {
		record = record.Release(p.ManifestDigest)
	}
	record, err := record.Propose(p)
	if err != nil || record.Last() == e.record.Last() {
		return err
	}
	record.Quarantined = e.record.Quarantined
	return e.save(ctx, record.Forget(e.History), &p)
}

// gate returns the checks that a plan has to pass now.
func (e *Engine) gate() bundle.Gate {
	g := e.Gate
	g.Now = e.Now()
	return g
}

// Install carries out a plan that was just made, and prunes what it leaves behind. What
// has failed comes back to what was healthy last; the error is a FailedError then. One
// that cannot be approved is a bundle.RefusedError, and nothing is written.
func (e *Engine) Install(ctx context.Context, p bundle.Plan, w Wish, approvals ...bundle.Approval) error {
	err := e.Begin(ctx, p, w, approvals...)
	if errors.Is(err, bundle.ErrQuarantined) && e.Unfinished() {
		return errors.Join(err, e.Resume(ctx)) // who saw it fail was interrupted on the way back
	} else if err != nil {
		return err
	}
	return e.finish(ctx)
}

// Begin stores a plan that was just made and approved as the revision under way, which Advance
// and Resume carry out. A plan that changes nothing is not stored. One that cannot be approved
// is a bundle.RefusedError, and nothing is written.
func (e *Engine) Begin(ctx context.Context, p bundle.Plan, w Wish, approvals ...bundle.Approval) error {
	if err := bundle.Approve(p, e.gate(), approvals); err != nil {
		return err
	}
	if last := e.record.Last(); !p.Changes() && last.State == bundle.StateSucceeded && last.ManifestDigest == p.ManifestDigest {
		return nil
	}
	record := e.record
	if w.Retry {
		record = record.Release(p.ManifestDigest)
	}
	record, err := record.Propose(p)
	if err == nil {
		record, err = record.Activate(p, e.Now())
	}
	if err != nil {
		return err
	}
	record = bundle.JudgedBy(record, e.Library)
	content := &p
	if last := e.record.Last(); last.State == bundle.StateProposed && last.Number == record.Last().Number {
		content = nil // what was approved is stored: p may describe live objects in other words
	}
	return e.save(ctx, record, content)
}

func (e *Engine) save(ctx context.Context, r bundle.Record, content *bundle.Plan) error {
	if err := e.Store.Save(ctx, r, content); err != nil {
		return err
	}
	e.record = r
	return nil
}

// Unfinished reports whether a run was interrupted that Resume goes on with.
func (e *Engine) Unfinished() bool {
	_, back := e.record.WayBack()
	return back && !e.NoWayBack || e.record.Begun().State == bundle.StateActive
}

// Resume goes on with what is stored until nothing is left to do, with its whole time again. Its
// errors are those of Install.
func (e *Engine) Resume(ctx context.Context) error {
	if e.record.Begun().State == bundle.StateActive {
		if err := e.save(ctx, e.record.Restart(e.Now()), nil); err != nil {
			return err
		}
	}
	return e.finish(ctx)
}

// finish carries out what is stored until nothing is left to do.
func (e *Engine) finish(ctx context.Context) error {
	var failed *FailedError
	late := false
	for {
		last := e.record.Begun()
		switch last.State {
		case bundle.StateActive:
			err := e.carry(ctx, last)
			if err != nil && !errors.Is(err, ErrTimeout) {
				return err
			}
			late = late || err != nil
		case bundle.StateFailed:
			failed = &FailedError{Revision: last.Number, Why: last.Message, Late: late}
			if begun, err := e.back(ctx); !begun {
				return errors.Join(failed, err)
			}
		default:
			return e.end(ctx, last, failed)
		}
	}
}

// end settles a success, and reports an earlier failure.
func (e *Engine) end(ctx context.Context, last bundle.Revision, failed *FailedError) error {
	err := e.settle(ctx, last)
	if failed == nil {
		return err
	}
	failed.Back = last.Number
	return errors.Join(failed, err)
}

// back begins the way back, if there is one.
func (e *Engine) back(ctx context.Context) (begun bool, err error) {
	content, found := e.record.WayBack()
	if !found || e.NoWayBack {
		return false, nil
	}
	old, err := e.Store.Plan(ctx, content)
	if err != nil {
		return false, err
	}
	p, err := e.draft(ctx, Wish{Sequence: old.Sequence.Back(), Conflicts: e.Conflicts, ConfirmKinds: e.ConfirmKinds}, content)
	if err != nil {
		return false, fmt.Errorf("cannot go back to the content of revision %d: %w", content, err)
	}
	record, err := e.record.Return(p, e.Now())
	if err != nil {
		return false, err
	}
	err = e.save(ctx, record, &p)
	return err == nil, err
}

// settle removes what a revision that has succeeded left behind.
func (e *Engine) settle(ctx context.Context, last bundle.Revision) error {
	if last.State != bundle.StateSucceeded || e.Kept {
		return nil
	}
	p, err := e.Store.Plan(ctx, last.Number)
	if err != nil {
		return err
	}
	return e.prune(ctx, p, last.Number)
}

// Uninstall deletes all that the deployment made, and then what is stored of it. The plan
// is that of a Wish to uninstall. It is refused while others use what would be deleted.
func (e *Engine) Uninstall(ctx context.Context, p bundle.Plan, approvals ...bundle.Approval) error {
	if err := e.BeginRemoval(ctx, p, approvals...); err != nil {
		return err
	}
	if err := e.prune(ctx, e.record.Removing.Plan(e.Owner, e.record), 0); err != nil {
		return err
	}
	return e.Store.Remove(ctx)
}

// BeginRemoval stores an approved plan to uninstall, which Remove carries out. Its errors are
// those of Uninstall.
func (e *Engine) BeginRemoval(ctx context.Context, p bundle.Plan, approvals ...bundle.Approval) error {
	if err := e.Unused(ctx, p); err != nil {
		return err
	}
	if err := bundle.Approve(p, e.gate(), approvals); err != nil {
		return err
	}
	record := e.record
	record.Removing = bundle.NewRemoval(p)
	return e.save(ctx, record, nil)
}

// Remove does one step of the removal that a plan describes, that of an uninstallation or bundle.Orphan. When nothing is left
// of it, the record is deleted, and gone is true.
func (e *Engine) Remove(ctx context.Context, p bundle.Plan) (pruned bundle.Pruned, gone bool, err error) {
	pruned, err = e.pruneOnce(ctx, p, 0)
	if err != nil || !pruned.Done() {
		return pruned, false, err
	}
	err = e.Store.Remove(ctx)
	return pruned, err == nil, err
}

// Unused returns a bundle.RefusedError while others use what a plan to uninstall deletes.
func (e *Engine) Unused(ctx context.Context, p bundle.Plan) error {
	seen, err := e.Cluster.Observe(ctx, e.leaving(p))
	if err != nil {
		return err
	}
	return p.Unused(seen.Live)
}

// Rollback wishes for the content of an earlier revision, 0 for the last healthy one before
// this. Definitions and Jobs stay as they are (BUNDLES.md 6).
func (e *Engine) Rollback(ctx context.Context, revision int) (w Wish, err error) {
	if err := e.Load(ctx); err != nil {
		return w, err
	}
	content, err := e.record.Earlier(revision)
	if err != nil {
		return w, err
	}
	p, err := e.Store.Plan(ctx, content)
	return Wish{Sequence: p.Sequence.Back()}, err
}

const (
	defaultTimeout = 15 * time.Minute
	defaultPause   = time.Second
)

func (e *Engine) timeout() time.Duration { return cmp.Or(e.Timeout, defaultTimeout) }

// rest lets time pass, or says that there is none.
func (e *Engine) rest(ctx context.Context, until time.Time, last error) error {
	if !e.Now().Before(until) {
		return errors.Join(fmt.Errorf("%w after %s", ErrTimeout, e.timeout()), last)
	}
	timer := time.NewTimer(cmp.Or(e.Pause, defaultPause))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
