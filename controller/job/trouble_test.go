package job

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
)

// vanish removes a Run as a person does who removes its finalizer by hand.
func (w *world) vanish(name string) {
	w.t.Helper()
	w.edit(name, func(o *v1alpha1.JobRun) { o.Finalizers = nil })
	w.delete(w.get(name))
}

// A hold whose Run was removed by force is withdrawn before its claim; after it, the claimant may still end it.
func TestRunRemovedByForce(t *testing.T) {
	w, r := started(t, false)
	w.run("two")
	w.vanish("one")
	w.pass(r, 0)
	assert.Equal(t, "two", w.workspace().State.Lock.Run.Name)

	w, r = started(t, true)
	w.vanish("one")
	w.pass(r, 0)
	assert.Equal(t, "one", w.workspace().State.Lock.Run.Name)
	w.finish(0, "sha256:1")
	w.run("two")
	w.pass(r, 0)
	assert.Equal(t, "two", w.current().attempt.Run)
	assert.Equal(t, int64(1), w.workspace().State.Lock.Base)
}

// A Run keeps its finalizer while its output is carried away, for a minute at most, and until what carried it out is
// removed (JOBS.md J11).
func TestDraining(t *testing.T) {
	for label, tc := range map[string]struct {
		over  bool
		after time.Duration
		gone  bool
	}{
		"Over":    {true, 0, true},
		"Working": {false, drain - time.Second, false},
		"Hanging": {false, drain, true},
	} {
		t.Run(label, func(t *testing.T) {
			w, r := started(t, true)
			p := w.current()
			w.finish(0, "sha256:1")
			p.Over = false
			w.pass(r, 0)
			assert.Contains(t, w.of("one"), "Ready Succeeded", "the end is shown at once")
			assert.NotEmpty(t, w.get("one").Finalizers)
			p.Over = tc.over
			w.pass(r, tc.after)
			assert.Equal(t, tc.gone, len(w.get("one").Finalizers) == 0)
			assert.Equal(t, tc.gone, len(w.pods) == 0)
		})
	}
}

// The end of a process that was killed is shown when its pod shows by what, or 5 seconds later: the pod is removed then.
func TestOutOfMemory(t *testing.T) {
	for label, tc := range map[string]struct {
		pod   run.Pod
		after time.Duration
		want  string
	}{
		"Unseen":  {run.Pod{Made: true}, explanation - time.Second, "Reconciling Running: it runs on node"},
		"Seen":    {run.Pod{Made: true, Stopped: true, OutOfMemory: true}, 0, "Stalled Failed: the kernel killed it for lack of memory"},
		"Outside": {run.Pod{Made: true, Stopped: true}, 0, "Stalled Failed: it was killed from outside"},
		"Never":   {run.Pod{Made: true}, explanation, "Stalled Failed: it was killed from outside"},
	} {
		t.Run(label, func(t *testing.T) {
			w, r := started(t, true)
			p := w.current()
			w.end(job.Exit{Cause: job.Killed}, "sha256:1")
			p.Over = false
			w.pass(r, 0)
			assert.Contains(t, w.of("one"), "Reconciling Running")
			p.Pod = tc.pod
			w.pass(r, tc.after)
			assert.Contains(t, w.of("one"), tc.want)
			if end := w.get("one").State.End; tc.pod.OutOfMemory {
				assert.Equal(t, string(job.OutOfMemory), end.Exit.Cause)
			}
		})
	}
}

// What cannot be removed keeps the finalizer, and is tried again.
func TestRemovalFails(t *testing.T) {
	w, r := started(t, true)
	w.finish(0, "sha256:1")
	w.stuck = errors.New("forbidden")
	_ = w.live(r)
	_, err := r.Reconcile(t.Context(), request())
	require.ErrorContains(t, err, "cannot remove attempt 1 of JobRun one: forbidden")
	assert.NotEmpty(t, w.get("one").Finalizers)
	assert.Contains(t, w.of("one"), "Ready Succeeded")
	w.stuck = nil
	w.pass(r, 0)
	assert.Empty(t, w.get("one").Finalizers)
}

// Renewals that cannot be read are no silence: the watch begins anew (JOBS.md J6).
func TestUnreadableSigns(t *testing.T) {
	w, r := started(t, true)
	w.pass(r, 50*time.Second)
	w.deaf = errors.New("leases: forbidden")
	w.now, w.clock = w.now.Add(time.Minute), w.clock+time.Minute
	_, err := r.Reconcile(t.Context(), request())
	require.ErrorContains(t, err, "cannot read the renewals of Run one: leases: forbidden")
	w.deaf = nil
	w.pass(r, 59*time.Second)
	assert.Contains(t, w.of("one"), "Reconciling Running")
	w.pass(r, time.Second)
	assert.Contains(t, w.of("one"), "Stalled Silent")
}

// A Run shows why its state is not stored yet, as its keeper reports it, and no longer than that.
func TestUnstored(t *testing.T) {
	w, r := started(t, true)
	w.signs[w.current().attempt.UID] = Sign{Fence: 1, Number: 1, Delay: job.Delay{Why: "cannot store the state: no space left on device"}}
	w.pass(r, 0)
	assert.Contains(t, w.of("one"), "Reconciling Capturing: its process has ended, and its state waits to be stored: cannot store")
	w.signs[w.current().attempt.UID] = Sign{Fence: 1, Number: 2}
	w.pass(r, 0)
	assert.Contains(t, w.of("one"), "Reconciling Running")
	w.signs[w.current().attempt.UID] = Sign{Fence: 1, Number: 3, Delay: job.Delay{Stage: job.Preparing, Why: "cannot fetch the state: refused"}}
	w.pass(r, 0)
	assert.Contains(t, w.of("one"), "Stalled CannotStart: its program has not started: cannot fetch the state: refused")
}

// An end shows what was wrong with it, as its keeper reports it.
func TestStoppedFromOutside(t *testing.T) {
	w, r := started(t, true)
	const problem = "its container was stopped from outside"
	w.edit("one", func(o *v1alpha1.JobRun) { o.State.Report = &v1alpha1.JobReport{Fence: 1, Message: problem} })
	w.finish(0, "sha256:1")
	w.pass(r, 0)
	assert.Contains(t, w.of("one"), "Ready Succeeded: it succeeded; "+problem+"; its state is committed")
}

// A Run shows why its keeper cannot claim it, until it is claimed; what an earlier attempt could not do is not its own.
func TestUnclaimed(t *testing.T) {
	w, r := started(t, false)
	run := w.current().attempt.UID
	w.signs[run] = Sign{Fence: 1, Delay: job.Delay{Stage: job.Preparing, Why: "cannot claim the run: no space left on device"}}
	w.pass(r, 0)
	assert.NotContains(t, w.of("one"), "no space", "its pod has no node")
	w.current().Where, w.current().Progress = "node", "its keeper has not claimed it yet"
	w.pass(r, 0)
	assert.Contains(t, w.of("one"), "Stalled CannotStart: its program has not started: cannot claim the run: no space left on device; its keeper tries again, and `orcon job cancel shop/one` ends the run")
	w.signs[run] = Sign{Fence: 7, Delay: w.signs[run].Delay}
	w.pass(r, 0)
	assert.Contains(t, w.of("one"), "Reconciling PodPending: its keeper has not claimed it yet")
	w.signs[run] = Sign{Fence: 1, Delay: w.signs[run].Delay}
	w.deaf = errors.New("leases: forbidden")
	_, err := r.Reconcile(t.Context(), request())
	require.ErrorContains(t, err, "cannot read the renewals of Run one: leases: forbidden")
	w.deaf = nil
	w.claim()
	w.pass(r, 0)
	assert.Contains(t, w.of("one"), "Reconciling Running: it runs on", "before its first renewal")
}

// Nothing that the store would have to know is decided while it does not answer: no attempt is replaced or withdrawn
// (JOBS.md J10), and a deletion waits (JOBS.md J18).
func TestStoreAway(t *testing.T) {
	w, r := started(t, false)
	w.current().Over = true
	w.broken = errors.New("connection refused")
	w.cancel("one")
	for range 3 {
		w.clock += time.Hour
		_, err := r.Reconcile(t.Context(), request())
		require.ErrorContains(t, err, "cannot read who claims fence 1: connection refused")
	}
	assert.Contains(t, w.of("one"), "Stalled CannotStart: cannot read who claims fence 1: connection refused")
	assert.Equal(t, int32(1), w.workspace().State.Lock.Attempt)
	w.broken = nil
	w.pass(r, 0)
	assert.Contains(t, w.of("one"), "Stalled Cancelled")
}

// A template that cannot be read for a moment, in the cache or on the API server, ends no Run.
func TestTemplateAway(t *testing.T) {
	w := newWorld(t)
	w.run("one")
	noCache, noServer := w.process(), w.process()
	cached, ok := noCache.Client.(client.WithWatch)
	require.True(t, ok)
	away := interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
			if _, is := into.(*v1alpha1.JobTemplate); is {
				return errors.New("it is not there")
			}
			return c.Get(ctx, key, into, options...)
		},
	}
	noCache.Client = interceptor.NewClient(cached, away)
	noServer.Reader = interceptor.NewClient(w.client, away)
	for _, without := range []*Reconciler{noCache, noServer} {
		_, err := without.Reconcile(t.Context(), request())
		require.ErrorContains(t, err, "cannot read JobTemplate shop/tofu")
		assert.Nil(t, w.get("one").State)
	}
	w.pass(w.process(), 0)
	assert.Contains(t, w.of("one"), "PodPending")
}

// An input that another writer has changed is not run.
func TestChangedInput(t *testing.T) {
	w := newWorld(t)
	r := w.process()
	w.run("one")
	w.run("two")
	w.pass(r, 0)
	w.edit("two", func(o *v1alpha1.JobRun) { o.State.Input.Args = []string{"--force"} })
	w.claim()
	w.finish(0, "")
	w.pass(r, 0)
	assert.Contains(t, w.of("two"), "Stalled Refused: state.input: its digest is")
	assert.Nil(t, w.workspace().State.Lock)
}

// A Run whose end cannot be read is left alone, and the others wait for it: it may be the last one (JOBS.md J4).
func TestUnreadableRun(t *testing.T) {
	w, r := started(t, true)
	w.finish(0, "sha256:1")
	w.pass(r, 0)
	w.edit("one", func(o *v1alpha1.JobRun) { o.State.End.Outcome = "Fine" })
	w.run("two")
	_ = w.live(r)
	_, err := r.Reconcile(t.Context(), request())
	require.ErrorContains(t, err, `cannot read the end of JobRun one: state.end.outcome: value "Fine" is unknown`)
	assert.Nil(t, w.workspace().State.Lock)
}

// Requests reach the Workspace of a Run, and those of a template.
func TestRequests(t *testing.T) {
	w := newWorld(t)
	r := w.process()
	w.run("one")
	assert.Equal(t, request(), requestOf(t.Context(), w.get("one"))[0])
	assert.Empty(t, requestOf(t.Context(), w.workspace()))
	named := func(name string) client.Object {
		return &v1alpha1.JobTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	}
	require.Len(t, r.users(t.Context(), named("tofu")), 1)
	assert.Equal(t, request(), r.users(t.Context(), named("tofu"))[0])
	assert.Empty(t, r.users(t.Context(), named("other")))
	assert.Empty(t, workspaceOf(named("tofu")))
	assert.Empty(t, templateOf(w.get("one")))
}

// Each Workspace is known by its UID, and forgotten with it: a process knows no more than there is.
func TestMemories(t *testing.T) {
	w, r := started(t, true)
	assert.Len(t, r.memories.all, 1)
	known := r.memories.all[request().NamespacedName]
	w.pass(r, 0)
	assert.Same(t, known, r.memories.all[request().NamespacedName])
	w.finish(0, "")
	w.pass(r, 0)
	assert.Empty(t, known.ended)
	w.delete(w.workspace())
	w.pass(r, 0)
	_, err := r.Reconcile(context.Background(), request())
	require.NoError(t, err)
	assert.Empty(t, r.memories.all)
}
