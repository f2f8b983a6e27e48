package bundle_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	engine "gitlab.ilabt.imec.be/tengu/orcon/controller/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// begun returns a scene in which a revision with objects has just begun.
func begun(t *testing.T, names ...string) *scene {
	t.Helper()
	s := newScene(t)
	w := s.wish(names...)
	p, err := s.Plan(t.Context(), w)
	require.NoError(t, err)
	require.NoError(t, s.Begin(t.Context(), p, w))
	return s
}

// many are the names of n ConfigMaps.
func many(n int) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprint("ConfigMap/c", i))
	}
	return all
}

// A step begins no more writes once its time is up, but always some; without a bound it writes all.
func TestStepIsBounded(t *testing.T) {
	tests := map[string]struct {
		why   string
		until time.Duration
		want  int
	}{
		"None":  {why: "a command has all the time", want: 100},
		"Over":  {why: "a look that takes all the time is followed by writes", until: time.Second, want: 32},
		"Ahead": {why: "there is time", until: time.Hour, want: 100},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := begun(t, many(100)...)
			if test.until > 0 {
				s.Until = s.Now().Add(test.until)
			}
			step, err := s.Advance(t.Context())
			require.NoError(t, err)
			assert.Len(t, s.cluster.objects, test.want, test.why)
			assert.True(t, step.More, "the next step need not wait")
		})
	}
}

// A step after which the cluster needs time says so.
func TestStepThatWaits(t *testing.T) {
	s := begun(t, "ConfigMap/a")
	s.cluster.refuses = 1
	step, err := s.Advance(t.Context())
	require.NoError(t, err)
	assert.False(t, step.More, "a write was refused")
	assert.True(t, s.Unfinished())
	step, err = s.Advance(t.Context())
	require.NoError(t, err)
	assert.True(t, step.More, "it was written")
	step, err = s.Advance(t.Context())
	require.NoError(t, err)
	assert.Equal(t, bundle.Succeeded, step.Outcome)
	step, err = s.Advance(t.Context())
	require.NoError(t, err)
	assert.Equal(t, engine.Step{}, step, "nothing is unfinished")
}

// waiting is a cluster in which objects have been unhealthy for long.
type waiting struct{ *cluster }

func (w waiting) Observe(ctx context.Context, look bundle.Look) (bundle.Seen, error) {
	seen, err := w.cluster.Observe(ctx, look)
	for id, live := range seen.Live {
		live.Health, live.Since = bundle.InProgress, time.Unix(0, 0)
		seen.Live[id] = live
	}
	return seen, err
}

// An object that was unhealthy before a run began has the whole patience of the run.
func TestPatienceBeginsWithTheRun(t *testing.T) {
	s := newScene(t)
	s.Cluster, s.Patience = waiting{s.cluster}, 5*time.Minute
	s.cluster.now = time.Unix(0, 0).Add(time.Hour)
	w := s.wish("ConfigMap/a")
	p, err := s.Plan(t.Context(), w)
	require.NoError(t, err)
	require.NoError(t, s.Begin(t.Context(), p, w))
	began := s.Now()
	for s.Unfinished() {
		_, err := s.Advance(t.Context())
		require.NoError(t, err)
	}
	assert.Equal(t, bundle.StateFailed, s.Record().Last().State)
	assert.GreaterOrEqual(t, s.Now().Sub(began), s.Patience)
	assert.Less(t, s.Now().Sub(began), 2*s.Patience)
}

// A run that a person resumes has its whole time again.
func TestResumeStartsTheTimeAnew(t *testing.T) {
	s := begun(t, "ConfigMap/a")
	s.cluster.now = s.cluster.now.Add(time.Hour)
	resumed := s.Now().UTC()
	require.NoError(t, s.Resume(t.Context()))
	assert.Equal(t, resumed, s.Record().Last().Started)
	assert.Equal(t, bundle.StateSucceeded, s.Record().Last().State)
	require.NoError(t, s.Resume(t.Context()))
	assert.Equal(t, resumed, s.Record().Last().Started, "nothing is under way")
}

// A plan that changes nothing makes no revision; one that changes an object does, and so does
// other content that needs no write.
func TestUnchangedPlan(t *testing.T) {
	s := newScene(t)
	require.NoError(t, s.install(t.Context(), "ConfigMap/a", "ConfigMap/b"))
	require.NoError(t, s.install(t.Context(), "ConfigMap/a", "ConfigMap/b"))
	assert.Equal(t, 1, s.Record().Last().Number)
	delete(s.cluster.objects, bundle.ID{Kind: "ConfigMap", Namespace: "shop", Name: "a"})
	require.NoError(t, s.install(t.Context(), "ConfigMap/a", "ConfigMap/b"))
	assert.Equal(t, 2, s.Record().Last().Number)
	assert.Equal(t, "ConfigMap/a ConfigMap/b", s.names())
}

// The plan that a person has approved stays as it is stored, although the live objects are
// described in other words when it begins.
func TestApprovedPlanStays(t *testing.T) {
	s := newScene(t)
	w := s.wish("ConfigMap/a")
	p, err := s.Plan(t.Context(), w)
	require.NoError(t, err)
	require.NoError(t, s.Propose(t.Context(), p, engine.Wish{}))
	requests := s.store.requests
	require.NoError(t, s.Propose(t.Context(), p, engine.Wish{}))
	assert.Equal(t, requests, s.store.requests, "the same plan is stored once")
	later := p
	later.Actions = []bundle.Action{p.Actions[0]}
	later.Actions[0].Why = "in other words"
	require.NoError(t, s.Begin(t.Context(), later, w))
	assert.Equal(t, p, s.store.plans[1])
	assert.Equal(t, 1, s.Record().Last().Number)
	assert.Equal(t, bundle.StateActive, s.Record().Last().State)
}

// Without a way back, what has failed stays as it is, and nothing is left to do.
func TestNoWayBack(t *testing.T) {
	s := newScene(t)
	require.NoError(t, s.install(t.Context(), "ConfigMap/a"))
	s.NoWayBack = true
	var failed *engine.FailedError
	require.ErrorAs(t, s.install(t.Context(), "ConfigMap/b", "Job/m"), &failed)
	assert.Equal(t, 2, failed.Revision)
	assert.Zero(t, failed.Back)
	assert.Contains(t, failed.Error(), "its objects stay")
	assert.False(t, s.Unfinished())
	assert.Contains(t, s.names(), "ConfigMap/b")

	s.NoWayBack = false
	assert.True(t, s.Unfinished(), "the way is open again")
	require.ErrorContains(t, s.Resume(t.Context()), "the last healthy content is back as revision 3")
	assert.Equal(t, "ConfigMap/a", s.names())
}

// A revision that fails goes back however many objects it has brought (BUNDLES.md 6).
func TestWayBackOfMany(t *testing.T) {
	s := newScene(t)
	require.NoError(t, s.install(t.Context(), "ConfigMap/a"))
	err := s.install(t.Context(), append(many(20), "ConfigMap/a", "Job/m")...)
	require.ErrorContains(t, err, "the last healthy content is back as revision 3")
	assert.Equal(t, "ConfigMap/a", s.names())
}

// Corrections that the cluster refuses are named, in the order of the objects.
func TestRefusedCorrection(t *testing.T) {
	s := newScene(t)
	require.NoError(t, s.install(t.Context(), many(5)...))
	clear(s.cluster.objects)
	kept, err := s.Look(t.Context())
	require.NoError(t, err)
	assert.Len(t, kept.Drift, 5)
	s.cluster.refuses = 4
	require.NoError(t, kept.Correct(t.Context()))
	var names []string
	for _, f := range kept.Failures {
		names = append(names, f.ID.Name)
		assert.Equal(t, "cannot be corrected: not now", f.Why)
	}
	assert.Equal(t, []string{"c0", "c1", "c2", "c3"}, names)
	require.NoError(t, kept.Settle(t.Context()))
}

// Nothing is kept before a revision has succeeded.
func TestLookBeforeSuccess(t *testing.T) {
	kept, err := begun(t, "ConfigMap/a").Look(t.Context())
	require.NoError(t, err)
	assert.Nil(t, kept)
}

// The record stays until everything is gone, and a look that fails is reported.
func TestRemovalThatIsHeld(t *testing.T) {
	s := newScene(t)
	require.NoError(t, s.install(t.Context(), "ConfigMap/a"))
	p, approval, err := s.uninstall(t.Context())
	require.NoError(t, err)
	s.Cluster = holding{s.cluster}
	require.NoError(t, s.BeginRemoval(t.Context(), p, approval))
	for range 3 {
		_, gone, err := s.Remove(t.Context(), s.Record().Removing.Plan(s.Owner, s.Record()))
		require.NoError(t, err)
		assert.False(t, gone)
		assert.NotEmpty(t, s.store.record.Revisions)
	}
	var told []engine.Progress
	s.Tell = func(p engine.Progress) { told = append(told, p) }
	s.cluster.unseen = 1
	_, _, err = s.Remove(t.Context(), s.Record().Removing.Plan(s.Owner, s.Record()))
	require.ErrorIs(t, err, errNotNow)
	_, _, err = s.Remove(t.Context(), s.Record().Removing.Plan(s.Owner, s.Record()))
	require.NoError(t, err)
	require.Len(t, told, 2)
	require.ErrorIs(t, told[0].Trouble, errNotNow)
	assert.Len(t, told[1].Next.Waits, 1)
}

// unreadable is a cluster in which no object can be compared.
type unreadable struct{ *cluster }

func (u unreadable) Observe(ctx context.Context, look bundle.Look) (bundle.Seen, error) {
	seen, err := u.cluster.Observe(ctx, look)
	seen.Refused = map[bundle.ID]error{}
	for _, o := range look.Compare {
		seen.Refused[o.ID()] = errNotNow
	}
	return seen, err
}

// Drift names what is missing, and what cannot be compared; before an installation there is none.
func TestDrift(t *testing.T) {
	s := newScene(t)
	_, _, err := s.Drift(t.Context())
	require.ErrorContains(t, err, "cannot compare shop/shop: it has no active revision")
	require.NoError(t, s.install(t.Context(), "ConfigMap/a", "ConfigMap/b"))
	revision, all, err := s.Drift(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 1, revision)
	assert.Empty(t, all)
	a := bundle.ID{Kind: "ConfigMap", Namespace: "shop", Name: "a"}
	delete(s.cluster.objects, a)
	_, all, err = s.Drift(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	assert.Equal(t, a, all[0].ID)

	s.Cluster = unreadable{s.cluster}
	_, _, err = s.Drift(t.Context())
	require.ErrorContains(t, err, "cannot compare ConfigMap shop/a: not now")
	_, err = s.Plan(t.Context(), s.wish("ConfigMap/a"))
	require.ErrorContains(t, err, "cannot plan ConfigMap shop/a: not now")
}

// Between names what one revision has and another has not.
func TestBetween(t *testing.T) {
	s := newScene(t)
	require.NoError(t, s.install(t.Context(), "ConfigMap/a"))
	require.NoError(t, s.install(t.Context(), "ConfigMap/a", "ConfigMap/b"))
	all, err := s.Between(t.Context(), 1, 2)
	require.NoError(t, err)
	require.Len(t, all, 1)
	assert.Equal(t, "b", all[0].ID.Name)
}

// A plan without approval is neither begun nor stored, and removes nothing.
func TestUnapproved(t *testing.T) {
	s := newScene(t)
	require.NoError(t, s.install(t.Context(), "ConfigMap/a"))
	before := s.store.record
	s.Gate.Mode = bundle.ByDigest
	w := s.wish("ConfigMap/b")
	p, err := s.Plan(t.Context(), w)
	require.NoError(t, err)
	var refused *bundle.RefusedError
	require.ErrorAs(t, s.Begin(t.Context(), p, w), &refused)
	assert.Equal(t, bundle.Unapproved, refused.Reason)
	everything, approval, err := s.uninstall(t.Context())
	require.NoError(t, err)
	require.ErrorAs(t, s.BeginRemoval(t.Context(), everything), &refused)
	require.ErrorAs(t, s.Uninstall(t.Context(), everything), &refused)
	assert.Equal(t, before, s.store.record)
	assert.Equal(t, "ConfigMap/a", s.names())
	require.NoError(t, s.Uninstall(t.Context(), everything, approval))
	assert.Empty(t, s.names())
}

// A content that failed is refused, and when its way back was interrupted the refusal goes on with
// that first.
func TestQuarantinedInstall(t *testing.T) {
	s := newScene(t)
	require.NoError(t, s.install(t.Context(), "ConfigMap/a"))
	w := s.wish("ConfigMap/a", "Job/m")
	p, err := s.Plan(t.Context(), w)
	require.NoError(t, err)
	require.NoError(t, s.Begin(t.Context(), p, w))
	for s.Record().Last().State == bundle.StateActive {
		_, err := s.Advance(t.Context())
		require.NoError(t, err)
	}
	require.True(t, s.Unfinished(), "the way back has not begun")
	require.ErrorIs(t, s.install(t.Context(), "ConfigMap/a", "Job/m"), bundle.ErrQuarantined)
	assert.False(t, s.Unfinished())
	assert.Equal(t, "ConfigMap/a", s.names())
	revision := s.Record().Last().Number
	require.ErrorIs(t, s.install(t.Context(), "ConfigMap/a", "Job/m"), bundle.ErrQuarantined)
	assert.Equal(t, revision, s.Record().Last().Number)
	require.ErrorContains(t, s.advance(t.Context(), "ConfigMap/a", "Job/m"), "revision 2")

	_, err = s.Rollback(t.Context(), 2)
	require.ErrorIs(t, err, bundle.ErrQuarantined)
	_, err = s.Rollback(t.Context(), 9)
	require.Error(t, err)
}

// refusing is a cluster that refuses to delete, for a while.
type refusing struct {
	*cluster

	refuses int
}

func (r *refusing) Delete(ctx context.Context, deletions []bundle.Deletion) map[bundle.ID]error {
	refused := map[bundle.ID]error{}
	for _, d := range deletions {
		if r.refuses > 0 {
			r.refuses--
			refused[d.ID] = errNotNow
			continue
		}
		_ = r.cluster.Delete(ctx, []bundle.Deletion{d})
	}
	return refused
}

// A deletion that is refused is stored with the time of its first refusal, and forgotten once it
// is done.
func TestRefusedDeletion(t *testing.T) {
	s := newScene(t)
	require.NoError(t, s.install(t.Context(), "ConfigMap/a", "ConfigMap/b"))
	s.Cluster = &refusing{cluster: s.cluster, refuses: 4}
	p, approval, err := s.uninstall(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.BeginRemoval(t.Context(), p, approval))
	var first bundle.Rejections
	step, gone := 0, false
	for ; !gone; step++ {
		require.Less(t, step, 10)
		var pruned bundle.Pruned
		pruned, gone, err = s.Remove(t.Context(), s.Record().Removing.Plan(s.Owner, s.Record()))
		require.NoError(t, err)
		switch step {
		case 0:
			first = s.store.record.Rejected
			require.Len(t, first, 2)
		case 1:
			assert.Equal(t, first, s.store.record.Rejected)
			require.Len(t, pruned.Waits, 2)
			assert.Contains(t, pruned.Waits[0].For, errNotNow.Error())
		case 2:
			assert.Empty(t, s.store.record.Rejected)
		}
	}
	assert.Greater(t, step, 3)
	assert.Empty(t, s.names())
	assert.Empty(t, s.store.record.Revisions)
}

// failing is a cluster in which objects report a failure, in the words for the time.
type failing struct {
	*cluster

	says func(time.Time) string
}

func (f failing) Observe(ctx context.Context, look bundle.Look) (bundle.Seen, error) {
	seen, err := f.cluster.Observe(ctx, look)
	for id, live := range seen.Live {
		live.Health, live.Says, live.Since = bundle.Failing, f.says(f.now), f.now
		seen.Live[id] = live
	}
	return seen, err
}

// A failure ends a run when it has been reported unchanged for a minute, and no sooner (CONTENT.md H5).
func TestFailureThatLasts(t *testing.T) {
	began := time.Time{}
	tests := map[string]struct {
		why  string
		says func(time.Time) string
		want time.Duration
	}{
		"Same":    {"it does not pass", func(time.Time) string { return "no quota" }, 3 * time.Minute},
		"Changes": {"it moved on once", func(now time.Time) string { return fmt.Sprint("no quota", now.Sub(began) > 2*time.Minute) }, 4 * time.Minute},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.Cluster, s.Cache = failing{s.cluster, test.says}, &engine.Cache{}
			w := s.wish("ConfigMap/a")
			p, err := s.Plan(t.Context(), w)
			require.NoError(t, err)
			require.NoError(t, s.Begin(t.Context(), p, w))
			began = s.Now()
			for s.Record().Last().State == bundle.StateActive {
				_, err := s.Advance(t.Context())
				require.NoError(t, err)
			}
			assert.Contains(t, s.Record().Last().Message, "no quota")
			assert.Equal(t, test.want, s.Now().Sub(began), "%s: each look takes a minute, the first one writes", test.why)
		})
	}
}

// A revision keeps the version of the probes that judge it, and its plan does not depend on it (CONTENT.md H4).
func TestRevisionNamesItsLibrary(t *testing.T) {
	s := newScene(t)
	w := s.wish("ConfigMap/a")
	before, err := s.Plan(t.Context(), w)
	require.NoError(t, err)
	s.Library = "a1"
	p, err := s.Plan(t.Context(), w)
	require.NoError(t, err)
	assert.Equal(t, before.Digest, p.Digest)
	require.NoError(t, s.Begin(t.Context(), p, w))
	assert.Equal(t, "a1", s.Record().Last().Library)
}
