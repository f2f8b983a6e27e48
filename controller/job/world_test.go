package job

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/directory"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/job"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/evidence"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

var errDead = errors.New("this process is dead")

// world is a cluster in memory with template tofu and Workspace shop/db, and the pods that an executor makes.
type world struct {
	t      *testing.T
	client client.WithWatch
	store  *directory.Store
	// writes counts the writes that are left before the process dies; negative for no limit. made counts all.
	writes, made int
	// claimWait is that of its controllers.
	claimWait time.Duration
	now       time.Time
	clock     time.Duration
	pods      map[executor.Name]*pod
	signs     map[string]Sign
	// broken is the error of the store, blind that of the executor; nil for none.
	broken, blind error
	// unlisted is the error of a list of the store, unwritten that of a write.
	unlisted, unwritten error
	// refuses is the error of a start, stuck that of a removal, deaf that of a look at renewals.
	refuses, stuck, deaf error
	events               *events.FakeRecorder
	born                 int
}

// pod is what the executor has made of an attempt.
type pod struct {
	executor.Sight

	attempt executor.Attempt
}

func newWorld(t *testing.T) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, errors.Join(corev1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)))
	definition := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "jobworkspaces.orcon.tengu.io", Finalizers: []string{"a/b"}}}
	definition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	scheme.AddKnownTypeWithName(definition.GroupVersionKind(), &metav1.PartialObjectMetadata{})
	w := &world{
		t: t, writes: -1, now: time.Now().Truncate(time.Second), pods: map[executor.Name]*pod{}, signs: map[string]Sign{}, events: events.NewFakeRecorder(10_000),
	}
	var err error
	w.store, err = directory.Open(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { _ = w.store.Close() })
	w.client = fake.NewClientBuilder().WithScheme(scheme).
		WithObjects(definition, namespace("shop"), namespace("orcon"), &v1alpha1.JobTemplate{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "tofu"},
			Spec: v1alpha1.JobTemplateSpec{JobProgram: v1alpha1.JobProgram{
				Image: "registry/tofu@sha256:" + strings.Repeat("a", 64), Contract: run.Contract,
				Actions:    []v1alpha1.JobAction{{Name: "deploy", Entrypoint: []string{"/deploy"}}, {Name: "destroy", Entrypoint: []string{"/destroy"}}},
				Parameters: &runtime.RawExtension{Raw: []byte(`{"type": "object", "properties": {"size": {"type": "integer"}}}`)},
			}},
		}).
		WithStatusSubresource(&v1alpha1.JobWorkspace{}, &v1alpha1.JobRun{}).
		WithIndex(&v1alpha1.JobRun{}, byWorkspace, workspaceOf).WithIndex(&v1alpha1.JobWorkspace{}, byTemplate, templateOf).Build()
	w.create(&v1alpha1.JobWorkspace{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}, Spec: v1alpha1.JobWorkspaceSpec{Template: "tofu"}})
	return w
}

func namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: []string{"a/b"}}}
}

// create creates an object as an API server does.
func (w *world) create(o client.Object) {
	w.t.Helper()
	w.stamp(o)
	require.NoError(w.t, w.client.Create(w.t.Context(), o))
}

// stamp gives an object its UID and time.
func (w *world) stamp(o client.Object) {
	w.born++
	o.SetUID(types.UID(fmt.Sprintf("%s-%d", o.GetName(), w.born)))
	o.SetCreationTimestamp(metav1.NewTime(w.now.Add(time.Duration(w.born) * time.Millisecond)))
}

// run creates a Run of action deploy.
func (w *world) run(name string, change ...func(*v1alpha1.JobRun)) {
	w.t.Helper()
	o := &v1alpha1.JobRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: v1alpha1.JobRunSpec{Workspace: "db", Action: "deploy"},
	}
	for _, c := range change {
		c(o)
	}
	w.now = w.now.Add(time.Second)
	w.create(o)
}

// change changes the Workspace as a person or the jobs API does.
func (w *world) change(change func(*v1alpha1.JobWorkspace)) {
	w.t.Helper()
	o := w.workspace()
	change(o)
	require.NoError(w.t, w.client.Update(w.t.Context(), o))
}

// edit changes a Run as a person does.
func (w *world) edit(name string, change func(*v1alpha1.JobRun)) {
	w.t.Helper()
	o := w.get(name)
	change(o)
	require.NoError(w.t, w.client.Update(w.t.Context(), o))
}

// idempotent replaces the template by one whose lock expires.
func (w *world) idempotent() {
	w.t.Helper()
	o := &v1alpha1.JobTemplate{}
	require.NoError(w.t, w.client.Get(w.t.Context(), client.ObjectKey{Namespace: "shop", Name: "tofu"}, o))
	o.Spec.Safety = v1alpha1.SafetyIdempotent
	require.NoError(w.t, w.client.Update(w.t.Context(), o))
}

// cancel cancels a Run.
func (w *world) cancel(name string) {
	w.t.Helper()
	w.edit(name, func(o *v1alpha1.JobRun) { o.Spec.Cancel = v1alpha1.CancelRequested })
}

// process returns a controller that has just started.
func (w *world) process() *Reconciler {
	write := func(do func() error) error {
		if w.writes == 0 {
			return errDead
		}
		w.writes--
		w.made++
		return do()
	}
	mortal := interceptor.NewClient(w.client, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			w.stamp(o)
			return write(func() error { return c.Create(ctx, o, options...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
			return write(func() error { return c.Patch(ctx, o, p, options...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
			return write(func() error { return c.Delete(ctx, o, options...) })
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			err := c.List(ctx, list, options...)
			if runs, ok := list.(*v1alpha1.JobRunList); ok {
				for i := range runs.Items {
					_, _ = Cached(&runs.Items[i])
				}
			}
			return err
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, options ...client.SubResourcePatchOption) error {
			return write(func() error { return c.SubResource(sub).Patch(ctx, o, p, options...) })
		},
	})
	return &Reconciler{
		Client: mortal, Reader: w.client, Executor: pods{w}, Store: store{w.store, w}, Signs: w, Events: w.events,
		Now: func() time.Time { return w.now }, Clock: func() time.Duration { return w.clock }, Home: "orcon",
		ClaimWait: w.claimWait,
	}
}

// Last implements Signs.
func (w *world) Last(_ context.Context, run string) (Sign, error) {
	return w.signs[run], w.deaf
}

// store is one that may be out of reach.
type store struct {
	blob.Store

	world *world
}

// List implements blob.Store.
func (s store) List(ctx context.Context, workspace string) ([]blob.Info, error) {
	if err := errors.Join(s.world.broken, s.world.unlisted); err != nil {
		return nil, err
	}
	return s.Store.List(ctx, workspace)
}

// Fences implements blob.Store.
func (s store) Fences(ctx context.Context, workspace string) ([]int64, error) {
	if s.world.broken != nil {
		return nil, s.world.broken
	}
	return s.Store.Fences(ctx, workspace)
}

// Put implements blob.Store.
func (s store) Put(ctx context.Context, key blob.Key, content io.ReadSeeker) error {
	if s.world.unwritten != nil {
		return s.world.unwritten
	}
	return s.Store.Put(ctx, key, content)
}

// Get implements blob.Store.
func (s store) Get(ctx context.Context, key blob.Key) (io.ReadCloser, error) {
	if s.world.broken != nil {
		return nil, s.world.broken
	}
	return s.Store.Get(ctx, key)
}

// pods is an executor whose pods do what the test says.
type pods struct{ *world }

// Start implements executor.Executor.
func (p pods) Start(_ context.Context, a executor.Attempt) error {
	if err := errors.Join(p.blind, p.refuses); err != nil {
		return err
	}
	if p.pods[a.Name] == nil {
		p.pods[a.Name] = &pod{executor.Sight{Pod: run.Pod{Made: true, Progress: "its pod waits for a node"}}, a}
	}
	return nil
}

// Look implements executor.Executor.
func (p pods) Look(_ context.Context, n executor.Name) (executor.Sight, error) {
	if p.blind != nil {
		return executor.Sight{}, p.blind
	}
	if one := p.pods[n]; one != nil {
		return one.Sight, nil
	}
	return executor.Sight{}, nil
}

// Remove implements executor.Executor.
func (p pods) Remove(_ context.Context, n executor.Name) error {
	if err := errors.Join(p.blind, p.stuck); err != nil {
		return err
	}
	delete(p.pods, n)
	return nil
}

// pass lets time pass, and reconciles as often as the controller asks for it soon.
func (w *world) pass(r *Reconciler, after time.Duration) {
	w.t.Helper()
	w.now, w.clock = w.now.Add(after), w.clock+after
	require.NoError(w.t, w.live(r))
}

// workspace reads the Workspace, get a Run.
func (w *world) workspace() *v1alpha1.JobWorkspace {
	w.t.Helper()
	o := &v1alpha1.JobWorkspace{}
	require.NoError(w.t, w.client.Get(w.t.Context(), client.ObjectKey{Namespace: "shop", Name: "db"}, o))
	return o
}

func (w *world) get(name string) *v1alpha1.JobRun {
	w.t.Helper()
	o := &v1alpha1.JobRun{}
	require.NoError(w.t, w.client.Get(w.t.Context(), client.ObjectKey{Namespace: "shop", Name: name}, o))
	return o
}

// gone reports whether an object is gone.
func (w *world) gone(o client.Object) bool {
	return apierrors.IsNotFound(w.client.Get(w.t.Context(), client.ObjectKeyFromObject(o), o))
}

// shown returns a condition, written as "type reason: message".
func shown(t *testing.T, all []metav1.Condition) string {
	t.Helper()
	for _, kind := range []string{"Stalled", "Reconciling", "Ready"} {
		if c := meta.FindStatusCondition(all, kind); c != nil && c.Status == metav1.ConditionTrue {
			return kind + " " + c.Reason + ": " + c.Message
		}
	}
	t.Fatal("no condition is true")
	return ""
}

// of returns the condition of a Run.
func (w *world) of(name string) string {
	w.t.Helper()
	return shown(w.t, w.get(name).Status.Conditions)
}

// swap has the jobs API change the Workspace.
func (w *world) swap(change func(workspace.Workspace) (workspace.Workspace, error)) {
	w.t.Helper()
	o := w.workspace()
	now, err := convert.ToWorkspace(o, job.Exclusive)
	require.NoError(w.t, err)
	next, err := change(now)
	require.NoError(w.t, err)
	convert.SetWorkspace(o, next)
	require.NoError(w.t, w.client.Update(w.t.Context(), o))
}

// current returns the pod of the attempt that holds the lock.
func (w *world) current() *pod {
	w.t.Helper()
	lock := w.workspace().State.Lock
	require.NotNil(w.t, lock)
	p := w.pods[executor.Name{Namespace: "shop", Run: lock.Run.Name, UID: lock.Run.UID, Number: int(lock.Attempt)}]
	require.NotNil(w.t, p, "the attempt was started")
	return p
}

// record has the store know that the pod claims the fence of the lock.
func (w *world) record() {
	w.t.Helper()
	o := w.workspace()
	key := blob.Key{Workspace: string(o.UID), Fence: o.State.Lock.Fence, Name: evidence.ClaimantName}
	require.NoError(w.t, w.store.Put(w.t.Context(), key, strings.NewReader("pod")))
}

// claim has the pod of the lock claim it.
func (w *world) claim() {
	w.t.Helper()
	p := w.current()
	w.record()
	w.swap(func(now workspace.Workspace) (workspace.Workspace, error) {
		return now.Claim(workspace.Start{Run: now.Lock.Run, Attempt: now.Lock.Attempt, Claimant: workspace.Claimant{ID: "pod", Where: "node"}})
	})
	p.Claimant = "pod"
}

// finish has the pod of the lock end with an exit code and a state.
func (w *world) finish(code int, state string) {
	w.t.Helper()
	w.end(job.Exit{Code: code}, state)
}

// end has the pod of the lock end with an exit and a state.
func (w *world) end(exit job.Exit, state string) {
	w.t.Helper()
	p := w.current()
	w.swap(func(now workspace.Workspace) (workspace.Workspace, error) {
		c := workspace.Capture{Run: now.Lock.Run, Fence: now.Lock.Fence, Base: now.Lock.Base, Outcome: job.Unchanged, Exit: exit, Now: w.now}
		if state != "" {
			c.Outcome, c.Blob = job.Committed, workspace.Blob{Digest: state, Key: "k/" + state, Fence: now.Lock.Fence}
		}
		next, _, err := now.End(c)
		return next, err
	})
	p.Over = true
}
