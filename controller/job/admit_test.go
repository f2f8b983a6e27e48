package job

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/evidence"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// Two Runs at once do what the concurrency says (JOBS.md J1).
func TestConcurrency(t *testing.T) {
	tests := map[string]struct {
		two, three string
	}{
		"Queue":           {"Reconciling Waiting", "Reconciling Waiting"},
		"Reject":          {"Stalled Rejected: shop/db has concurrency Reject", "Stalled Rejected"},
		"SupersedeQueued": {"Stalled Superseded: a newer Run of shop/db was queued", "Reconciling Waiting"},
	}
	for policy, tc := range tests {
		t.Run(policy, func(t *testing.T) {
			w := newWorld(t)
			w.change(func(o *v1alpha1.JobWorkspace) { o.Spec.Concurrency = policy })
			r := w.process()
			for _, name := range []string{"one", "two", "three"} {
				w.run(name)
				w.pass(r, 0)
			}
			assert.Contains(t, w.of("one"), "Reconciling PodPending")
			assert.Contains(t, w.of("two"), tc.two)
			assert.Contains(t, w.of("three"), tc.three)
			assert.Len(t, w.pods, 1)
		})
	}
}

// A Run that waits for what is not there goes on when it is; one that cannot start ends with the cure.
func TestFreezing(t *testing.T) {
	w := newWorld(t)
	w.change(func(o *v1alpha1.JobWorkspace) { o.Spec.Template = "tofuu" })
	r := w.process()
	w.run("one")
	w.pass(r, 0)
	assert.Equal(t, "Stalled Missing: there is no JobTemplate tofuu in namespace shop: create it, or correct spec.template of JobWorkspace db", w.of("one"))
	w.change(func(o *v1alpha1.JobWorkspace) { o.Spec.Template = "tofu" })
	w.pass(r, 0)
	assert.Contains(t, w.of("one"), "PodPending")
	require.Len(t, w.get("one").OwnerReferences, 1)

	w.change(func(o *v1alpha1.JobWorkspace) {
		o.Spec.Parameters = &runtime.RawExtension{Raw: []byte(`{"size": "big"}`)}
	})
	w.run("two")
	w.run("three", func(o *v1alpha1.JobRun) { o.Spec.Action = "deplo" })
	w.pass(r, 0)
	assert.Contains(t, w.of("two"), "Stalled Refused: cannot run tofu:")
	assert.Contains(t, w.of("two"), "size")
	assert.Contains(t, w.of("two"), "correct JobWorkspace db, then create another JobRun")
	assert.Contains(t, w.of("three"), `it has no action "deplo" (did you mean "deploy"?)`)
	assert.Contains(t, w.of("three"), "deploy, destroy: create another JobRun")
	assert.Equal(t, v1alpha1.OutcomeNone, w.get("two").State.End.Outcome)
	assert.Contains(t, w.of("one"), "PodPending")

	template := &v1alpha1.JobTemplate{}
	require.NoError(t, w.client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "tofu"}, template))
	template.Spec.Parameters.Raw = []byte(`{"type": "object", "properties": {"size": {"type": "integer"}, "speed": {"type": "integer"}}}`)
	require.NoError(t, w.client.Update(t.Context(), template))
	w.change(func(o *v1alpha1.JobWorkspace) {
		o.Spec.Parameters = &runtime.RawExtension{Raw: []byte(`{"size": "big", "speed": "slow"}`)}
	})
	w.run("four")
	w.pass(r, 0)
	assert.NotContains(t, w.of("four"), "\n")
	assert.Contains(t, w.get("four").State.End.Message, "; parameter ")
}

// A Run without a Workspace waits for it, and ends when it is cancelled.
func TestNoWorkspace(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.client.Delete(t.Context(), w.workspace()))
	r := w.process()
	w.run("one")
	w.pass(r, 0)
	assert.Equal(t, "Stalled Missing: there is no JobWorkspace db in namespace shop: create it, or delete this JobRun", w.of("one"))
	w.cancel("one")
	w.pass(r, 0)
	assert.Equal(t, "Stalled Cancelled: it was cancelled before it started: there is no JobWorkspace db in namespace shop", w.of("one"))
}

// The lock has the safety of the template that the Run was frozen from, also if the Workspace names another one now
// (JOBS.md J6).
func TestFrozenSafety(t *testing.T) {
	w := newWorld(t)
	r := w.process()
	w.run("one")
	w.run("two")
	w.pass(r, 0)
	w.idempotent()
	w.claim()
	w.finish(0, "")
	w.pass(r, 0)
	assert.Equal(t, "two", w.current().attempt.Run)
	assert.NotEqual(t, v1alpha1.SafetyIdempotent, w.workspace().State.Lock.Safety)
}

// Nothing starts while the store is not known, or is ahead of the Workspace; and a restore is noticed without another
// list (JOBS.md J20).
func TestStore(t *testing.T) {
	w := newWorld(t)
	r := w.process()
	w.broken = errors.New("connection refused")
	w.run("one")
	_ = w.live(r)
	_, err := r.Reconcile(t.Context(), request())
	require.ErrorContains(t, err, "connection refused")
	assert.Contains(t, w.of("one"), "Reconciling Waiting: cannot list the store of states: connection refused")
	assert.Nil(t, w.workspace().State)
	w.broken = nil
	w.pass(r, 0)
	w.claim()
	old := w.workspace().State.DeepCopy()
	w.finish(0, "sha256:1")
	w.pass(r, 0)
	w.unlisted = errors.New("it is listed once")
	w.run("two")
	w.pass(r, 0)
	w.claim()
	w.finish(0, "sha256:2")
	w.pass(r, 0)
	assert.Equal(t, int64(2), w.workspace().State.Generation.Number)
	w.change(func(o *v1alpha1.JobWorkspace) { o.State = old })
	w.run("three")
	w.pass(r, 0)
	assert.Contains(t, shown(t, w.workspace().Status.Conditions), "Stalled StoreAhead")

	w = newWorld(t)
	key := blob.Key{Workspace: string(w.workspace().UID), Fence: 9, Name: "generation-0000000003"}
	require.NoError(t, w.store.Put(t.Context(), key, strings.NewReader("{}")))
	r = w.process()
	w.run("one")
	w.pass(r, 0)
	assert.Contains(t, w.of("one"), "Reconciling Waiting: the store is ahead: it holds generation 3 and fence 9")
	assert.Empty(t, w.pods)
}

// stale is a cache that shows an object as it was.
func (w *world) stale(r *Reconciler, was client.Object) {
	cached, ok := r.Client.(client.WithWatch)
	require.True(w.t, ok)
	r.Client = interceptor.NewClient(cached, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
			if reflect.TypeOf(into) == reflect.TypeOf(was) && key == client.ObjectKeyFromObject(was) {
				reflect.ValueOf(into).Elem().Set(reflect.ValueOf(was.DeepCopyObject()).Elem())
				return nil
			}
			return c.Get(ctx, key, into, options...)
		},
	})
}

// A cache that shows the lock as free neither gives it to another Run, nor ends one that has it (JOBS.md J1 and J4).
func TestStaleCache(t *testing.T) {
	w := newWorld(t)
	r := w.process()
	w.pass(r, 0)
	was := w.workspace()
	w.run("one")
	w.run("two")
	w.pass(r, 0)
	w.cancel("one")
	w.cancel("two")
	w.run("three")
	behind := w.process()
	w.stale(behind, was)
	for range 5 {
		result, err := behind.Reconcile(t.Context(), request())
		require.NoError(t, err)
		assert.Equal(t, soon, result.RequeueAfter)
	}
	assert.Equal(t, "one", w.workspace().State.Lock.Run.Name)
	assert.Nil(t, w.get("one").State.End)
	w.pass(r, 0)
	assert.Contains(t, w.of("one"), "Stalled Cancelled")
	assert.Equal(t, "three", w.current().attempt.Run)
}

// A Run gets the parameters that were written before it, although the cache does not show them yet.
func TestStaleSpec(t *testing.T) {
	w := newWorld(t)
	r := w.process()
	w.pass(r, 0)
	was := w.workspace()
	w.change(func(o *v1alpha1.JobWorkspace) { o.Spec.Parameters = &runtime.RawExtension{Raw: []byte(`{"size": 2}`)} })
	w.run("one")
	behind := w.process()
	w.stale(behind, was)
	result, err := behind.Reconcile(t.Context(), request())
	require.NoError(t, err)
	assert.Equal(t, soon, result.RequeueAfter)
	assert.Nil(t, w.get("one").State)
	w.pass(r, 0)
	assert.JSONEq(t, `{"size": 2}`, string(w.get("one").State.Input.Parameters.Raw))
}

// A Run gets the JobTemplate that was written before it was created, also while the cache is behind; it takes its lock by
// the safety of the same template.
func TestStaleTemplate(t *testing.T) {
	w := newWorld(t)
	w.idempotent()
	r := w.process()
	w.pass(r, 0)
	template := &v1alpha1.JobTemplate{}
	require.NoError(t, w.client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "tofu"}, template))
	was := template.DeepCopy()
	template.Spec.Image = "registry/tofu@sha256:" + strings.Repeat("b", 64)
	require.NoError(t, w.client.Update(t.Context(), template))
	w.run("one")
	behind := w.process()
	w.stale(behind, was)
	w.pass(behind, 0)
	assert.Equal(t, template.Spec.Image, w.get("one").State.Input.Image)

	template.Spec.Safety = v1alpha1.SafetyExclusive
	require.NoError(t, w.client.Update(t.Context(), template))
	w.run("two")
	result, err := behind.Reconcile(t.Context(), request())
	require.NoError(t, err)
	assert.Equal(t, soon, result.RequeueAfter)
	assert.Nil(t, w.get("two").State)
}

// A pod that is over is not lost if its keeper has recorded the end, although the cache does not show it yet (JOBS.md J3).
func TestStaleEnd(t *testing.T) {
	w, r := started(t, true)
	was := w.workspace()
	w.finish(0, "sha256:1")
	w.stale(r, was)
	result, err := r.Reconcile(t.Context(), request())
	require.NoError(t, err)
	assert.Equal(t, soon, result.RequeueAfter)
	w.pass(w.process(), 0)
	assert.Contains(t, w.of("one"), "Ready Succeeded")
}

// The next Run is admitted when the last one shows its end, or is gone (JOBS.md J1).
func TestLastRunGone(t *testing.T) {
	w, r := started(t, true)
	w.finish(0, "sha256:1")
	w.pass(r, 0)
	require.NoError(t, w.client.Delete(t.Context(), w.get("one")))
	w.run("two")
	w.pass(r, 0)
	assert.Equal(t, "two", w.current().attempt.Run)
}

// The deletion of a Run is a cancel; the object goes once its end is recorded (JOBS.md J7 and J18).
func TestDeletedRun(t *testing.T) {
	w, r := started(t, true)
	one := w.get("one")
	require.NoError(t, w.client.Delete(t.Context(), one))
	w.pass(r, 0)
	assert.Contains(t, w.of("one"), "Reconciling Cancelled: its process on node is being stopped")
	w.finish(143, "sha256:1")
	w.pass(r, 0)
	assert.True(t, w.gone(one))
	assert.Equal(t, int64(1), w.workspace().State.Generation.Number)
}

// A state that cannot be read stops everything but its message.
func TestUnreadable(t *testing.T) {
	w, r := started(t, true)
	w.change(func(o *v1alpha1.JobWorkspace) { o.State.Lock.Safety = "Sure" })
	w.current().Over = true
	w.pass(r, time.Hour)
	assert.Contains(t, shown(t, w.workspace().Status.Conditions), `Stalled Unreadable: the state cannot be read`)
	assert.Contains(t, shown(t, w.workspace().Status.Conditions), `state.lock.safety: value "Sure" is unknown`)
	assert.Nil(t, w.workspace().State.Lock.Recovery)
}

// Orphans that no person decides about are forgotten after 30 days (JOBS.md J6).
func TestOrphans(t *testing.T) {
	w := newWorld(t)
	r := w.process()
	since := metav1.NewTime(w.now)
	w.change(func(o *v1alpha1.JobWorkspace) {
		o.State = &v1alpha1.JobWorkspaceState{Fence: 1, Orphans: []v1alpha1.JobOrphan{{Archive: &v1alpha1.JobArchive{Key: "k"}, Since: &since}}}
	})
	w.pass(r, 30*24*time.Hour)
	assert.Len(t, w.workspace().State.Orphans, 1)
	w.pass(r, time.Second)
	assert.Empty(t, w.workspace().State.Orphans)
}

// Each change is one Event, and a change that needs a person is a warning.
func TestEvents(t *testing.T) {
	w, r := started(t, true)
	w.current().Over = true
	w.pass(r, time.Second)
	w.pass(r, time.Hour)
	close(w.events.Events)
	var all []string
	for e := range w.events.Events {
		all = append(all, e)
	}
	text := strings.Join(all, "\n")
	assert.Equal(t, 1, strings.Count(text, "Warning Vanished"), text)
	assert.Equal(t, 1, strings.Count(text, "Warning NeedsRecovery"), text)
	assert.Equal(t, 1, strings.Count(text, "Normal Running it runs on node"), text)
}

// locked is a store whose blobs no key opens.
type locked struct{ blob.Store }

// Get implements blob.Store.
func (l locked) Get(ctx context.Context, key blob.Key) (io.ReadCloser, error) {
	if strings.HasPrefix(key.Name, evidence.StatePrefix) {
		return nil, fmt.Errorf("%w: age1x is missing", blob.ErrLocked)
	}
	return l.Store.Get(ctx, key)
}

// Without a key nothing starts, and the Run shows what helps; with it, it goes on (JOBS.md J14).
func TestNoKey(t *testing.T) {
	w, r := started(t, true)
	p := w.current()
	w.swap(func(now workspace.Workspace) (workspace.Workspace, error) {
		key := blob.Key{Workspace: string(w.workspace().UID), Fence: 1, Name: "state-1"}
		next, _, err := now.End(workspace.Capture{
			Run: now.Lock.Run, Fence: 1, Outcome: job.Committed, Now: w.now, Blob: workspace.Blob{Digest: "sha256:1", Key: key.String(), Fence: 1},
		})
		return next, err
	})
	p.Over = true
	w.pass(r, 0)
	w.run("two")
	refused := func(why string) {
		t.Helper()
		_, err := r.Reconcile(t.Context(), request())
		if err == nil { // it was frozen first
			_, err = r.Reconcile(t.Context(), request())
		}
		require.ErrorContains(t, err, why)
		assert.Contains(t, w.of("two"), "Reconciling Waiting: "+why)
		assert.Nil(t, w.workspace().State.Lock)
	}
	stored := r.Store
	r.Store = locked{stored}
	refused("cannot read generation 1 of the state: no key opens the blob: age1x is missing")
	r.Store = stored
	r.Ready = func(context.Context) error { return errors.New("the Secret is gone") }
	refused("cannot store a state: the Secret is gone")
	w.change(func(o *v1alpha1.JobWorkspace) {
		o.Spec.State = &v1alpha1.JobStatePolicy{Encryption: v1alpha1.EncryptionDisabled}
	})
	w.pass(r, 0)
	assert.Equal(t, "two", w.current().attempt.Run)
}
