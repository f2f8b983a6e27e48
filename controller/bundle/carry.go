package bundle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Cache keeps what was read of the revision under way and does not change by itself. It saves
// requests, and may be empty.
type Cache struct {
	revision int
	digest   string
	// plan is that of the revision, and before what was applied before it; nil if not read.
	plan   *bundle.Plan
	before bundle.Sequence
	// applied are the objects that were seen or written as the revision has them; they are no
	// longer compared.
	applied map[bundle.ID]bool
	// resting are those of them that have no status; they are no longer read.
	resting map[bundle.ID]bundle.Live
	// failing are the failures that objects report, and since when they do so without a change.
	failing map[bundle.ID]symptom
}

// symptom is the failure that an object reports, and since when.
type symptom struct {
	says  string
	since time.Time
}

// of returns the cache of a revision, and forgets that of any other.
func (c *Cache) of(v bundle.Revision) *Cache {
	if c.revision != v.Number || c.digest != v.PlanDigest || c.applied == nil {
		*c = Cache{
			revision: v.Number, digest: v.PlanDigest,
			applied: map[bundle.ID]bool{}, resting: map[bundle.ID]bundle.Live{}, failing: map[bundle.ID]symptom{},
		}
	}
	return c
}

// Shrink forgets what is large and can be read again, for the time until the next step.
func (c *Cache) Shrink() { c.plan, c.before = nil, nil }

// looking is one look at the objects of a revision.
type looking struct {
	*Engine

	cache *Cache
	began time.Time
	// record is the engine's, with the rejections of this look.
	record bundle.Record
}

// Step is the outcome of one step.
type Step struct {
	bundle.Next

	// More reports that the next step need not wait: the cluster took all that was written.
	More bool
}

// Advance does one step of the unfinished work: of the revision under way, or the beginning of
// the way back from one that has failed. It returns within seconds, and does nothing where
// nothing is unfinished. What it needs to know is stored, so that any process may do the next.
func (e *Engine) Advance(ctx context.Context) (Step, error) {
	last := e.record.Begun()
	if last.State == bundle.StateActive {
		return (&looking{Engine: e}).step(ctx, last)
	}
	if !e.Unfinished() {
		return Step{}, nil
	}
	_, err := e.back(ctx)
	return Step{More: err == nil}, err
}

// step looks at the revision under way, and does what is next. An error is that the cluster
// could not be looked at, or that another process is at work: two that each undo what the other
// writes would never end.
func (l *looking) step(ctx context.Context, last bundle.Revision) (Step, error) {
	if err := errors.Join(l.Store.Unmoved(ctx), l.load(ctx, last)); err != nil {
		return Step{}, stored(err)
	}
	live, err := l.observe(ctx)
	if err != nil {
		l.tell(Progress{Revision: last.Number, Trouble: err})
		return Step{}, err
	}
	next := bundle.Step(*l.cache.plan, l.record, live, bundle.Pace{Now: l.Now(), Deadline: l.Patience})
	l.tell(Progress{Revision: last.Number, Back: last.Content != last.Number, Next: next})
	record := l.record.Complete(next.Completed...)
	switch next.Outcome {
	case bundle.Succeeded:
		record, err = record.Succeed()
		record = record.Forget(l.History)
	case bundle.Failed:
		record, err = record.Fail(failures(l.lasting(next)))
	case bundle.Progressing:
	}
	if err == nil && (next.Outcome != bundle.Progressing || len(next.Completed) > 0) {
		err = l.save(ctx, record, nil)
	}
	if err != nil || next.Outcome != bundle.Progressing {
		return Step{Next: next, More: err == nil}, stored(err)
	}
	l.record = record
	more, err := l.write(ctx, next)
	return Step{Next: next, More: more}, err
}

// load reads what the step needs of the revision under way.
func (l *looking) load(ctx context.Context, last bundle.Revision) error {
	if l.Cache == nil {
		l.Cache = &Cache{}
	}
	l.cache, l.began, l.record = l.Cache.of(last), last.Started, l.Engine.record
	if l.cache.plan != nil {
		return nil
	}
	p, err := l.Store.Plan(ctx, last.Number)
	if err != nil {
		return err
	}
	if before := l.record.Before(last.Number); before > 0 {
		old, err := l.Store.Plan(ctx, before)
		if err != nil {
			return fmt.Errorf("cannot read what revision %d changes: %w", last.Number, err)
		}
		l.cache.before = old.Sequence
	}
	l.cache.plan = &p
	return nil
}

// writesAtOnce is how many objects are written before the time is looked at again.
const writesAtOnce = 32

// write writes and deletes until the time of this step is up, and stores what was refused. more
// reports that nothing was.
func (l *looking) write(ctx context.Context, next bundle.Next) (more bool, err error) {
	if err := l.overwrite(ctx, next.Apply); err != nil {
		return false, err
	}
	var done []bundle.ID
	refused := map[bundle.ID]error{}
	for writes := range slices.Chunk(next.Apply, writesAtOnce) {
		written, not := l.Cluster.Apply(ctx, writes)
		for _, id := range written {
			l.cache.applied[id] = true
		}
		done = append(done, written...)
		maps.Copy(refused, not)
		if past(l.Until, l.Now()) {
			break // after a write: a look that takes all the time would never be followed by one
		}
	}
	maps.Copy(refused, l.Cluster.Delete(ctx, next.Delete))
	if ctx.Err() != nil { // what was refused was refused for that
		return false, context.Cause(ctx)
	}
	record := l.record
	record.Rejected = record.Rejected.Note(done, refused, l.Now())
	if !slices.Equal(record.Rejected, l.Engine.record.Rejected) {
		err = stored(l.save(ctx, record, nil))
	}
	return len(next.Apply)+len(next.Delete) > 0 && len(record.Rejected) == 0, err
}

// overwrite stores what writes overwrite of adopted objects, before they are done.
func (l *looking) overwrite(ctx context.Context, writes []bundle.Write) error {
	originals, changed := l.Engine.record.Originals.Overwrite(writes)
	if !changed {
		return nil
	}
	record := l.Engine.record
	record.Originals, l.record.Originals = originals, originals
	return stored(l.save(ctx, record, nil))
}

// past reports whether a bound is passed; a zero one never is.
func past(until, now time.Time) bool { return !until.IsZero() && now.After(until) }

// observe looks at all objects of the plan, and those that end before them: what is applied is
// only read, and what rests not even that.
func (l *looking) observe(ctx context.Context) (map[bundle.ID]bundle.Live, error) {
	look := l.cache.plan.Sequence.Look(l.Owner, bundle.Record{}, l.cache.before)
	look.Read = append(look.Read, l.cache.plan.Predecessors()...)
	var compare []bundle.Object
	for _, o := range look.Compare {
		switch id := o.ID(); {
		case !l.cache.applied[id]:
			compare = append(compare, o)
		case l.cache.resting[id].Object == nil:
			look.Read = append(look.Read, id)
		}
	}
	look.Compare = compare
	seen, err := l.Cluster.Observe(ctx, look)
	if err != nil {
		return nil, err
	}
	l.record.Rejected = l.record.Rejected.Note(nil, seen.Refused, l.Now())
	for _, item := range l.cache.plan.Sequence {
		seen.Live[item.ID] = l.judge(item, seen.Live[item.ID])
	}
	return seen.Live, nil
}

// judge completes the state of an object with the memory of this run.
func (l *looking) judge(item bundle.Item, live bundle.Live) bundle.Live {
	if rested, known := l.cache.resting[item.ID]; known {
		return rested
	}
	rejection, rejected := l.record.Rejected.Of(item.ID)
	switch {
	case live.Object != nil && live.Object.Annotation(bundle.DigestKey) == item.Digest && !live.Differs():
		l.cache.applied[item.ID] = true
		if live.Health == bundle.Ready && live.Object.At("status") == nil {
			l.cache.resting[item.ID] = live
		}
		// What was bad before this run began has had no chance to become better.
		if !live.Since.IsZero() && live.Since.Before(l.began) {
			live.Since = l.began
		}
		live = l.lasts(item.ID, live)
	case rejected:
		live.Says, live.Log, live.Since = rejection.Why, bundle.Log{}, rejection.Since
	default:
		// How it was before it is written says nothing about what it will be.
		live.Says, live.Log, live.Since = "", bundle.Log{}, time.Time{}
	}
	return live
}

// lasts returns an object that reports the same failure for too long as broken (CONTENT.md H5).
func (l *looking) lasts(id bundle.ID, live bundle.Live) bundle.Live {
	if live.Health != bundle.Failing {
		delete(l.cache.failing, id)
		return live
	}
	if known, found := l.cache.failing[id]; !found || known.says != live.Says {
		l.cache.failing[id] = symptom{live.Says, l.Now()}
	} else if l.Now().Sub(known.since) >= bundle.Lasting {
		live.Health = bundle.Broken
	}
	return live
}

// errStored reports that the record could not be written, or has changed.
var errStored = errors.New("cannot continue")

// stored marks an error of the store.
func stored(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errStored, err)
}

// carry carries out the active revision until it has succeeded or failed, which is stored. The
// error is ErrTimeout where it has failed because time is up; with any other error it can be
// resumed.
func (e *Engine) carry(ctx context.Context, last bundle.Revision) error {
	until := e.Now().Add(e.timeout())
	for {
		s, err := (&looking{Engine: e}).step(ctx, last)
		switch {
		case err != nil && ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, errStored):
			return err
		case err == nil && s.Outcome != bundle.Progressing:
			return nil
		case s.More:
			continue
		}
		if late := e.rest(ctx, until, err); errors.Is(late, ErrTimeout) {
			record, err := e.record.Fail(late.Error() + ": " + waits(e.lasting(s.Next)))
			if err == nil {
				err = e.save(ctx, record, nil)
			}
			return cmp.Or(err, ErrTimeout)
		} else if late != nil {
			return late
		}
	}
}

func (e *Engine) tell(p Progress) {
	if e.Tell != nil {
		e.Tell(p)
	}
}

// failures describes why a revision has failed.
func failures(next bundle.Next) string {
	var all []string
	for _, f := range next.Failures {
		all = append(all, f.String())
	}
	return strings.Join(all, "; ")
}

// lasting returns what is known of a failed revision as it is stored: without the logs that a way back
// deletes with their pods.
func (e *Engine) lasting(next bundle.Next) bundle.Next {
	if _, content := e.record.Healthy(); content == 0 || e.NoWayBack {
		return next
	}
	next.Failures, next.Waits = slices.Clone(next.Failures), slices.Clone(next.Waits)
	for i := range next.Failures {
		f := &next.Failures[i]
		if f.Log != (bundle.Log{}) && e.LogHint != "" {
			f.Why += "; " + e.LogHint
		}
		f.Log = bundle.Log{}
	}
	for i := range next.Waits {
		next.Waits[i].Log = bundle.Log{}
	}
	return next
}

// waits describes what a revision waited for, first things first.
func waits(next bundle.Next) string {
	if len(next.Waits) == 0 {
		return "no object reports a problem"
	}
	return next.Waiting()
}
