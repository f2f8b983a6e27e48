package bundle

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// carrying is one run of a revision.
type carrying struct {
	*Engine

	plan   bundle.Plan
	before bundle.Sequence
	began  time.Time
	// applied are the objects that were seen or written as they shall be: of these nobody
	// asks again what applying would change.
	applied map[bundle.ID]bool
	// resting are those of them that have no status, and so do not change by themselves.
	resting map[bundle.ID]bundle.Live
	refused refusals
}

// refusals are why objects could not be written, and since when.
type refusals map[bundle.ID]bundle.Live

// note remembers what was refused this time. The first time counts.
func (r refusals) note(errs map[bundle.ID]error, now time.Time) {
	for id, err := range errs {
		since := now
		if known, again := r[id]; again {
			since = known.Since
		}
		r[id] = bundle.Live{Says: err.Error(), Since: since}
	}
}

// carry carries out the active revision until it has succeeded or failed, which is
// stored. ErrTimeout says that it has failed because time is up; any other error that
// it goes on another time.
func (e *Engine) carry(ctx context.Context, last bundle.Revision) error {
	p, err := e.Store.Plan(ctx, last.Number)
	if err != nil {
		return err
	}
	before, err := e.replaced(ctx, last)
	if err != nil {
		return err
	}
	c := e.carrying(p, before)
	until := c.began.Add(e.timeout())
	for {
		next, err := c.step(ctx, last)
		switch {
		case err != nil && ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, errStored):
			return err
		case next.Outcome == bundle.Succeeded:
			return c.succeed(ctx)
		case next.Outcome == bundle.Failed:
			return c.fail(ctx, failures(next))
		case len(next.Apply)+len(next.Delete) > 0 && len(c.refused) == 0:
			continue
		}
		if late := e.rest(ctx, until, err); errors.Is(late, ErrTimeout) {
			if err := c.fail(ctx, late.Error()+": "+waits(next)); err != nil {
				return err
			}
			return ErrTimeout
		} else if late != nil {
			return late
		}
	}
}

func (e *Engine) carrying(p bundle.Plan, before bundle.Sequence) carrying {
	return carrying{
		Engine: e, plan: p, before: before, began: e.Now(),
		applied: map[bundle.ID]bool{}, resting: map[bundle.ID]bundle.Live{}, refused: refusals{},
	}
}

// replaced is what was applied before this revision.
func (e *Engine) replaced(ctx context.Context, last bundle.Revision) (bundle.Sequence, error) {
	before := e.record.Before(last.Number)
	if before == 0 {
		return nil, nil
	}
	p, err := e.Store.Plan(ctx, before)
	if err != nil {
		return nil, fmt.Errorf("cannot tell what revision %d changes: %w", last.Number, err)
	}
	return p.Sequence, nil
}

// step looks, asks what is next and does it. An error is that the cluster could not be
// looked at, or that somebody else is at work: two who each put right what the other writes
// would never end.
func (c *carrying) step(ctx context.Context, last bundle.Revision) (bundle.Next, error) {
	if err := c.Store.Unmoved(ctx); err != nil {
		return bundle.Next{}, fmt.Errorf("%w: %w", errStored, err)
	}
	live, err := c.observe(ctx)
	if err != nil {
		c.tell(Progress{Revision: last.Number, Trouble: err})
		return bundle.Next{}, err
	}
	next := bundle.Step(c.plan, c.record, live, bundle.Pace{Now: c.Now(), Deadline: c.Patience})
	c.tell(Progress{Revision: last.Number, Back: last.Content != last.Number, Next: next})
	if len(next.Completed) > 0 {
		if err := c.save(ctx, c.record.Complete(next.Completed...), nil); err != nil {
			return bundle.Next{}, fmt.Errorf("%w: %w", errStored, err)
		}
	}
	now := c.Now()
	written, refused := c.Cluster.Apply(ctx, next.Apply)
	for _, id := range written {
		c.applied[id] = true
		delete(c.refused, id)
	}
	c.refused.note(refused, now)
	c.refused.note(c.Cluster.Delete(ctx, next.Delete), now)
	return next, ctx.Err()
}

func (e *Engine) tell(p Progress) {
	if e.Tell != nil {
		e.Tell(p)
	}
}

// observe looks at all objects of the plan: what is applied is only read, and what rests
// not even that.
func (c *carrying) observe(ctx context.Context) (map[bundle.ID]bundle.Live, error) {
	look := c.plan.Sequence.Look(c.Owner, bundle.Record{}, c.before)
	var compare []bundle.Object
	for _, o := range look.Compare {
		switch id := o.ID(); {
		case !c.applied[id]:
			compare = append(compare, o)
		case c.resting[id].Object == nil:
			look.Read = append(look.Read, id)
		}
	}
	look.Compare = compare
	seen, err := c.Cluster.Observe(ctx, look)
	if err != nil {
		return nil, err
	}
	c.refused.note(seen.Refused, c.Now())
	for _, item := range c.plan.Sequence {
		seen.Live[item.ID] = c.judge(item, seen.Live[item.ID])
	}
	return seen.Live, nil
}

// judge adds to what was seen of an object what this run knows of it.
func (c *carrying) judge(item bundle.Item, l bundle.Live) bundle.Live {
	if rested, known := c.resting[item.ID]; known {
		return rested
	}
	switch refusal, refused := c.refused[item.ID]; {
	case l.Object != nil && l.Object.Annotation(bundle.DigestKey) == item.Digest && len(l.Changes) == 0:
		c.applied[item.ID] = true
		if l.Health == bundle.Ready && l.Object.At("status") == nil {
			c.resting[item.ID] = l
		}
		// What was bad before this run began has had no chance to become better.
		if !l.Since.IsZero() && l.Since.Before(c.began) {
			l.Since = c.began
		}
	case refused:
		l.Says, l.Since = refusal.Says, refusal.Since
	default:
		// How it was before it is written says nothing about what it will be.
		l.Says, l.Since = "", time.Time{}
	}
	return l
}

func (c *carrying) succeed(ctx context.Context) error {
	record, err := c.record.Succeed()
	if err != nil {
		return err
	}
	return c.save(ctx, record.Forget(c.History), nil)
}

func (c *carrying) fail(ctx context.Context, why string) error {
	record, err := c.record.Fail(why)
	if err != nil {
		return err
	}
	return c.save(ctx, record, nil)
}

// failures says why a revision has failed.
func failures(next bundle.Next) string {
	var all []string
	for _, f := range next.Failures {
		all = append(all, f.ID.String()+": "+f.Why)
	}
	return strings.Join(all, "; ")
}

// waits says what a revision waited for, first things first.
func waits(next bundle.Next) string {
	if len(next.Waits) == 0 {
		return "no object reports a problem"
	}
	return next.Waiting()
}
