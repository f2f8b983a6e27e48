package bundle_test

import (
	"slices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// killed ends a process.
type killed struct{}

// write does one write, unless the process is killed before.
func (w *world) write(do func()) {
	if len(w.kills) > 0 {
		if w.writes == w.kills[0] {
			w.kills, w.writes = w.kills[1:], 0
			panic(killed{})
		}
		w.writes++
	}
	do()
}

func (w *world) store(r bundle.Record, err error) func(*rapid.T) {
	return func(t *rapid.T) {
		require.NoError(t, err)
		w.write(func() { w.record = r })
	}
}

// settle lets time pass and processes run, those that are killed too, until nothing is
// written any more.
func (w *world) settle(t *rapid.T) {
	quiet := 0
	for range 400 {
		if w.process(t) {
			quiet = 0
			continue
		}
		w.tick++
		w.expire()
		if quiet++; quiet > 2*failsAfter {
			return
		}
	}
	require.Fail(t, "it does not settle", "%v", w.record.Revisions)
}

// process is one pass of a process that may be killed; the next begins anew.
func (w *world) process(t *rapid.T) (wrote bool) {
	defer func() {
		switch cause := recover(); cause.(type) {
		case nil:
		case killed:
			wrote = true
		default:
			panic(cause)
		}
	}()
	return w.pass(t)
}

// pass is what a process does with what it finds; it reports whether it wrote.
func (w *world) pass(t *rapid.T) bool {
	last := w.record.Last()
	switch last.State {
	case bundle.StateProposed:
		return w.begin(t, w.plans[last.Number])
	case bundle.StateActive:
		return w.step(t, w.plans[last.Number])
	case bundle.StateFailed:
		return w.back(t) || w.propose(t)
	default:
		if w.propose(t) {
			return true
		}
	}
	if last.State == bundle.StateSucceeded {
		return w.keep(t, w.plans[last.Number]) || w.prune(w.plans[last.Number])
	}
	return false
}

// intent is what a plan of a sequence is made of.
func (w *world) intent(s bundle.Sequence, back int) bundle.Intent {
	return bundle.Intent{Cluster: "c1", UID: "u1", Owner: owner, Sequence: s, Live: w.seen(s), Record: w.record, Conflicts: w.policy, KindChange: w.kindChange, Back: back}
}

func (w *world) plan(t *rapid.T, s bundle.Sequence, back int) bundle.Plan {
	p, err := bundle.NewPlan(w.intent(s, back))
	require.NoError(t, err)
	return p
}

// propose plans what its author wishes, if that is new.
func (w *world) propose(t *rapid.T) bool {
	p := w.plan(t, order(t, w.wish...), 0)
	if p.ManifestDigest == w.record.Last().ManifestDigest || slices.Contains(w.record.Quarantined, p.ManifestDigest) {
		return false
	}
	w.write(func() { w.plans[w.record.Last().Number+1] = p })
	w.store(w.record.Propose(p))(t)
	return true
}

// begin approves what was proposed, with all that a person would confirm.
func (w *world) begin(t *rapid.T, p bundle.Plan) bool {
	now := w.plan(t, order(t, w.wish...), 0)
	if p.Changed(now) != nil {
		w.write(func() { w.plans[w.record.Last().Number+1] = now })
		w.store(w.record.Propose(now))(t)
		return true
	}
	yes := bundle.Approval{PlanDigest: p.Digest}
	for _, h := range p.Holds {
		yes.Confirmed = append(yes.Confirmed, h.Objects...)
	}
	if bundle.Approve(p, bundle.Gate{}, []bundle.Approval{yes}) != nil {
		return false
	}
	w.store(w.record.Activate(p, w.now(w.tick)))(t)
	return true
}

func (w *world) back(t *rapid.T) bool {
	content, found := w.record.WayBack()
	if !found {
		return false
	}
	p := w.plan(t, w.plans[content].Sequence.Back(), content)
	r, err := w.record.Return(p, w.now(w.tick))
	if err != nil {
		return false
	}
	w.write(func() { w.plans[r.Last().Number] = p })
	w.store(r, nil)(t)
	return true
}

// keep puts right what a stranger has changed.
func (w *world) keep(t *rapid.T, p bundle.Plan) bool {
	next := bundle.Correct(p, w.record, w.seen(p.Sequence), bundle.Pace{Now: w.now(w.tick)})
	w.overwrite(next.Apply)
	for _, a := range next.Apply {
		w.write(func() { w.apply(t, a) })
	}
	require.Empty(t, next.Delete, "what has succeeded has replaced all that it replaces")
	return len(next.Apply) > 0
}

// overwrite stores what is overwritten of strangers' objects.
func (w *world) overwrite(writes []bundle.Write) {
	if all, changed := w.record.Originals.Overwrite(writes); changed {
		w.write(func() { w.record.Originals = all })
	}
}

// step does what the next step says.
func (w *world) step(t *rapid.T, p bundle.Plan) bool {
	next := bundle.Step(p, w.record, w.seen(p.Sequence), bundle.Pace{Now: w.now(w.tick)})
	if len(next.Completed) > 0 {
		w.store(w.record.Complete(next.Completed...), nil)(t)
	}
	for _, d := range next.Delete {
		w.write(func() { w.remove(d) })
	}
	w.overwrite(next.Apply)
	for _, a := range next.Apply {
		w.write(func() {
			w.inTurn(t, p, a.Object.ID())
			w.apply(t, a)
		})
	}
	switch next.Outcome {
	case bundle.Succeeded:
		w.store(w.record.Succeed())(t)
	case bundle.Failed:
		w.store(w.record.Fail("it has failed"))(t)
	default:
		return len(next.Completed)+len(next.Delete)+len(next.Apply) > 0
	}
	return true
}

// inTurn checks that what an object waits for is there and healthy, and that all of
// earlier phases are there.
func (w *world) inTurn(t *rapid.T, p bundle.Plan, id bundle.ID) {
	at := slices.IndexFunc(p.Sequence, func(item bundle.Item) bool { return item.ID == id })
	item := p.Sequence[at]
	for _, before := range p.Sequence[:at] {
		if before.Phase < item.Phase && before.Run == "" {
			require.Contains(t, w.objects, before.ID, "%s is of phase %s, before %s", before.ID, before.Phase, id)
		}
	}
	for _, e := range item.After {
		if e.To.Kind != "Job" {
			require.Equal(t, bundle.Ready, w.look(e.To, nil).Health, "%s waits for %s", id, e.To)
		}
	}
}

func (w *world) prune(p bundle.Plan) bool {
	pruned := bundle.Prune(p, w.record, w.seen(p.Sequence))
	for _, d := range pruned.Delete {
		w.write(func() { w.remove(d) })
	}
	if len(pruned.Gone) > 0 {
		w.write(func() { w.record = w.record.Drop(pruned.Gone...) })
	}
	return len(pruned.Delete)+len(pruned.Gone) > 0
}
