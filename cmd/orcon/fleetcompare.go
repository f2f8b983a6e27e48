package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/data"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/integrationset"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/rendering"
)

// fleetComparison compares two versions of the data.
type fleetComparison struct {
	before, after fleetVersion
	// pairs are the members that may differ, in the order of namespaces. Those of a file with errors are left out.
	pairs []fleetPair
	// live is the cluster that the version after the change is planned for; nil without one.
	live *fleetLive
}

// fleetPair is a member in both versions; nil where it is not declared.
type fleetPair struct{ was, is *fleetMember }

// newFleetComparison finds the members that may differ: what is rendered from equal inputs by one chart is equal.
func newFleetComparison(before, after fleetVersion) fleetComparison {
	c := fleetComparison{before: before, after: after}
	was := map[integrationset.Key]*fleetMember{}
	for i, m := range before.members {
		was[keyOf(m.Member)] = &before.members[i]
	}
	for i := range after.members {
		m := &after.members[i]
		old := was[keyOf(m.Member)]
		delete(was, keyOf(m.Member))
		if old == nil && m.Integration != "" && len(before.faults) > 0 && !before.lacks(*m) {
			c.after.notes = append(c.after.notes, data.Problem{
				Location: m.Location, Reason: "the data before the change have an error here", Cure: "all of it is shown as new",
			})
		}
		if old == nil || before.chart != after.chart || !old.equals(*m) {
			c.pairs = append(c.pairs, fleetPair{old, m})
		}
	}
	for _, m := range was {
		if after.lacks(*m) || slices.Contains(after.idle, keyOf(m.Member)) {
			c.pairs = append(c.pairs, fleetPair{m, nil})
		}
	}
	slices.SortFunc(c.pairs, func(a, b fleetPair) int { return keyOf(a.member().Member).Compare(keyOf(b.member().Member)) })
	return c
}

// member returns the member as it is declared now, or was.
func (p fleetPair) member() *fleetMember {
	if p.is != nil {
		return p.is
	}
	return p.was
}

// compared is a pair of members, rendered and compared.
type compared struct {
	planned plannedMember
	was, is inspection
	err     error
}

// plan renders the members that may differ, and returns those that do, with the notes that are new. Members that cannot
// be rendered are left out and become faults of the version after the change.
func (c *fleetComparison) plan(ctx context.Context, s screen) ([]plannedMember, []data.Problem) {
	planned := []plannedMember{}
	var was, is inspection
	all := c.compareAll(ctx, s)
	for _, one := range all {
		was.add(one.was)
		is.add(one.is)
		c.after.failed(one.err)
		one.planned.Cluster.miss(all)
		if len(one.planned.Objects) > 0 || one.planned.Cluster.stops() || one.planned.Cluster.partial() {
			planned = append(planned, one.planned)
		}
	}
	return planned, newNotes(slices.Concat(c.before.notes, was.problems()), slices.Concat(c.after.notes, is.problems()))
}

// compareAll renders and compares all pairs, several at a time.
func (c *fleetComparison) compareAll(ctx context.Context, s screen) []compared {
	all := make([]compared, len(c.pairs))
	next, shown := make(chan int), newRenderProgress(s, len(c.pairs))
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(c.pairs)) {
		workers.Go(func() {
			for i := range next {
				all[i] = c.compare(ctx, c.pairs[i])
				shown.add()
			}
		})
	}
	for i := range c.pairs {
		next <- i
	}
	close(next)
	workers.Wait()
	shown.end()
	return all
}

// compare returns how the versions of a member differ.
func (c *fleetComparison) compare(ctx context.Context, p fleetPair) compared {
	var result compared
	var old, now []bundle.Object
	var err, failed error
	if p.was != nil {
		if old, err = c.before.render(ctx, *p.was); err != nil {
			err = fmt.Errorf("before the change: %w", err)
		}
		result.was = inspect(*p.was, old)
	}
	if p.is != nil {
		now, failed = c.after.render(ctx, *p.is)
		result.is = inspect(*p.is, now)
	}
	if result.err = errors.Join(err, failed); result.err == nil {
		result.planned, result.err = planMember(*p.member(), old, now)
	}
	switch {
	case result.err != nil:
	case c.live == nil:
		result.planned.Unverified = unasked()
	default:
		result.planned.Cluster, result.planned.Objects, result.err = c.live.plan(ctx, p, now)
	}
	return result
}

// planMember returns the changes of a member from its objects.
func planMember(m fleetMember, old, now []bundle.Object) (plannedMember, error) {
	before, err := bundle.Order(old)
	after, failed := bundle.Order(now)
	if err := errors.Join(err, failed); err != nil {
		return plannedMember{}, fmt.Errorf("cannot compare %s: %w", m, err)
	}
	return plannedMember{
		Environment: m.Namespace.Environment.Name, Namespace: m.Namespace.Name, Integration: m.Integration,
		Declared: m.Location.String(), Objects: planObjects(bundle.Compare(before, after), rendering.Effects(old, now)), title: m.String(),
	}, nil
}

// planObjects returns the changes of objects with their effects.
func planObjects(all []bundle.Difference, effects map[bundle.ID]string) []plannedObject {
	planned := []plannedObject{}
	for i, shown := range showDifferences(all) {
		planned = append(planned, plannedObject{shown, effects[all[i].ID]})
	}
	return planned
}

// newNotes returns the notes that the data before the change do not have.
func newNotes(before, after []data.Problem) []data.Problem {
	known := map[data.Problem]bool{}
	unlocated := func(p data.Problem) data.Problem {
		p.Location.Line, p.Location.Pointer = 0, ""
		return p
	}
	for _, p := range before {
		known[unlocated(p)] = true
	}
	return slices.DeleteFunc(slices.Clone(after), func(p data.Problem) bool { return known[unlocated(p)] })
}

// renderProgress shows on a terminal how many members are rendered, where that takes long.
type renderProgress struct {
	mu        sync.Mutex
	activity  *activity
	done, all int
}

// patience is how long rendering goes on before its progress is shown, and step how many members are rendered between
// two changes of it.
const (
	patience = time.Second
	step     = 20
)

func newRenderProgress(s screen, all int) *renderProgress {
	return &renderProgress{activity: s.activity(time.Now), all: all}
}

// add counts a member.
func (p *renderProgress) add() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	a := p.activity
	if a.screen.live > 0 && p.done%step == 0 && a.now().Sub(a.began) >= patience {
		a.update(0, 0, fmt.Sprintf("rendered %d of %d members that may change", p.done, p.all))
	}
}

func (p *renderProgress) end() { p.activity.end() }
