package approval

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
)

// digest is that of the plan that JobRun shop/db-plan has left.
var digest = "sha256:" + strings.Repeat("a", 64) //nolint:gochecknoglobals // a constant that is computed

// world is a cluster in memory with JobWorkspace shop/db and JobRun db-plan, which has planned.
type world struct {
	*Reconciler

	t *testing.T
	// writes counts the writes that are left before the process dies; negative for no limit.
	writes int
	// deaf has the errors of reads from the API server by the names of objects.
	deaf map[string]error
}

var errDead = errors.New("this process is dead")

func newWorld(t *testing.T) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	w := &world{t: t, writes: -1}
	write := func(do func() error) error {
		if w.writes == 0 {
			return errDead
		}
		w.writes--
		return do()
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.JobApproval{}).WithIndex(&v1alpha1.JobApproval{}, byRun, runOf).
		WithObjects(planner(), &v1alpha1.JobWorkspace{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db", UID: "db"},
			State: &v1alpha1.JobWorkspaceState{Fence: 1, Plan: &v1alpha1.JobPlan{
				Run: v1alpha1.JobHolder{UID: "run", Name: "db-plan"}, Archive: v1alpha1.JobArchive{Digest: digest, Key: "k", Fence: 1}, Input: "i",
			}},
		}).
		WithInterceptorFuncs(interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
				return write(func() error { return c.Create(ctx, o, options...) })
			},
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
				return write(func() error { return c.Patch(ctx, o, p, options...) })
			},
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, options ...client.SubResourcePatchOption) error {
				return write(func() error { return c.SubResource(sub).Patch(ctx, o, p, options...) })
			},
		}).Build()
	reader := interceptor.NewClient(c, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			return errors.Join(w.deaf[key.Name], c.Get(ctx, key, o, options...))
		},
	})
	w.Reconciler = &Reconciler{Client: c, Reader: reader, Now: time.Now}
	return w
}

// planner returns JobRun db-plan.
func planner() *v1alpha1.JobRun {
	return &v1alpha1.JobRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db-plan", UID: "run"}, Spec: v1alpha1.JobRunSpec{Workspace: "db", Action: "plan"},
		State: &v1alpha1.JobRunState{End: &v1alpha1.JobRunEnd{Phase: "Succeeded", Reason: "Planned", Outcome: v1alpha1.OutcomeUnchanged, Fence: 1}},
	}
}

// approve creates the approval of a plan of JobRun db-plan.
func (w *world) approve(of string) {
	w.t.Helper()
	require.NoError(w.t, w.Client.Create(w.t.Context(), &v1alpha1.JobApproval{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "a", UID: "0123456789"},
		Spec:       v1alpha1.JobApprovalSpec{Run: "db-plan", PlanDigest: of, Author: "ann"},
	}))
}

// pass reconciles the approval, and returns it.
func (w *world) pass() *v1alpha1.JobApproval {
	w.t.Helper()
	_, err := w.Reconcile(w.t.Context(), request())
	require.NoError(w.t, err)
	o := &v1alpha1.JobApproval{}
	require.NoError(w.t, w.Client.Get(w.t.Context(), request().NamespacedName, o))
	return o
}

func request() reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "a"}}
}

// why returns the condition that is true.
func why(o *v1alpha1.JobApproval) string {
	for _, c := range o.Status.Conditions {
		if c.Status == metav1.ConditionTrue {
			return c.Type + " " + c.Reason + ": " + c.Message
		}
	}
	return ""
}

// JOBS.md J17: one approval leads to one JobRun, whichever write was the last one before the process died.
func TestApproved(t *testing.T) {
	for writes := range 3 {
		w := newWorld(t)
		w.approve(digest)
		w.writes = writes
		_, err := w.Reconcile(t.Context(), request())
		require.ErrorIs(t, err, errDead)
		w.writes = -1
		o := w.pass()
		assert.Equal(t, "db-012345", o.Status.Run)
		assert.Equal(t, "Ready Approved: JobRun db-012345 applies the plan: `orcon job logs shop/db-012345 -f`", why(o))
		require.Len(t, o.OwnerReferences, 1, "it goes with the JobRun that planned")
		var list v1alpha1.JobRunList
		require.NoError(t, w.Client.List(t.Context(), &list))
		require.Len(t, list.Items, 2, writes)
		assert.Equal(t, v1alpha1.JobRunSpec{Workspace: "db", Action: "deploy", Plan: "db-plan"}, list.Items[0].Spec)
		w.writes = 0
		w.pass()
		require.NoError(t, w.Client.Delete(t.Context(), planner()))
		assert.Contains(t, why(w.pass()), "Ready Approved", "what it led to stays")
	}
}

// An approval that does not fit has a condition with the cure, and no JobRun; one that comes early waits.
func TestNotApproved(t *testing.T) {
	w := newWorld(t)
	w.approve("sha256:" + strings.Repeat("b", 64))
	assert.Contains(t, why(w.pass()), "Stalled OtherPlan: JobRun db-plan has left plan aaaaaaaaaaaa, not bbbbbbbbbbbb")

	w = newWorld(t)
	require.NoError(t, w.Client.Delete(t.Context(), planner()))
	w.approve(digest)
	assert.Contains(t, why(w.pass()), "Stalled NoRun: there is no JobRun db-plan")

	w = newWorld(t)
	early := planner()
	early.State = nil
	require.NoError(t, w.Client.Delete(t.Context(), planner()))
	require.NoError(t, w.Client.Create(t.Context(), early))
	w.approve(digest)
	o := w.pass()
	assert.Contains(t, why(o), "Reconciling NotPlanned: JobRun db-plan has not ended")
	assert.Empty(t, o.Status.Run)
	assert.Equal(t, []reconcile.Request{request()}, w.ofRun(t.Context(), early), "its end has the approval judged again")
	require.NoError(t, w.Client.Delete(t.Context(), early))
	require.NoError(t, w.Client.Create(t.Context(), planner()))
	assert.Contains(t, why(w.pass()), "Ready Approved")
	require.NoError(t, w.Client.Delete(t.Context(), o))
	_, err := w.Reconcile(t.Context(), request())
	require.NoError(t, err, "it was withdrawn")
}

// An API server that does not answer is asked again; nothing is decided.
func TestUnreadable(t *testing.T) {
	w := newWorld(t)
	w.approve(digest)
	for name, says := range map[string]string{"db-plan": "cannot read JobRun db-plan: connection refused", "db": "cannot read JobWorkspace db: connection refused"} {
		w.deaf = map[string]error{name: errors.New("connection refused")}
		_, err := w.Reconcile(t.Context(), request())
		require.ErrorContains(t, err, says)
	}
	w.deaf = nil
	assert.Contains(t, why(w.pass()), "Ready Approved")
}
