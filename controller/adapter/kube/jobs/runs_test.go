package jobs

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/job"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
)

// A keeper gets the frozen parameters.
func TestRun(t *testing.T) {
	template, w, r, p := shop(t)
	world := newWorld(t, template, w, r, p)
	got, err := Runs{Objects: world.objects()}.Get(t.Context(), "r-uid")
	require.NoError(t, err)
	assert.Equal(t, serve.Run{Parameters: `{"size":"3"}`, Namespace: "shop", Content: "sha256:content"}, got)
	_, err = Runs{Objects: world.objects()}.Get(t.Context(), "gone")
	require.ErrorIs(t, err, errUnknown)
}

// JOBS.md J7: a cancel, a deletion and a timeout that has passed stop the process.
func TestCancel(t *testing.T) {
	for label, change := range map[string]func(*v1alpha1.JobRun){
		"Cancelled": func(r *v1alpha1.JobRun) { r.Spec.Cancel = v1alpha1.CancelRequested },
		"TimedOut":  convert.SetTimedOut,
		"Deleted": func(r *v1alpha1.JobRun) {
			r.Finalizers, r.DeletionTimestamp = []string{"orcon.tengu.io/x"}, &metav1.Time{Time: time.Unix(1, 0)}
		},
	} {
		t.Run(label, func(t *testing.T) {
			_, w, r, _ := shop(t)
			change(r)
			got, err := Runs{Objects: newWorld(t, w, r).objects()}.Get(t.Context(), "r-uid")
			require.NoError(t, err)
			assert.True(t, got.Cancel)
		})
	}
}

// A Run that cannot be read as it was frozen starts nothing.
func TestUnreadableRun(t *testing.T) {
	for label, change := range map[string]func(*v1alpha1.JobRun){
		"Changed":   func(r *v1alpha1.JobRun) { r.State.Input.Action = "destroy" },
		"NotFrozen": func(r *v1alpha1.JobRun) { r.State = nil },
	} {
		t.Run(label, func(t *testing.T) {
			_, w, r, _ := shop(t)
			change(r)
			_, err := Runs{Objects: newWorld(t, w, r).objects()}.Get(t.Context(), "r-uid")
			require.ErrorContains(t, err, "cannot read JobRun shop/network-7")
		})
	}
}

// The first report of a fence stays, and one of an earlier fence is late (JOBS.md J8).
func TestReport(t *testing.T) {
	template, w, r, p := shop(t)
	world := newWorld(t, template, w, r, p)
	port := Runs{Objects: world.objects(), Writer: world}
	stored := func() *v1alpha1.JobReport {
		var o v1alpha1.JobRun
		require.NoError(t, world.Get(t.Context(), client.ObjectKeyFromObject(r), &o))
		assert.NotNil(t, o.State.Input, "all else stays")
		return o.State.Report
	}
	for _, report := range []serve.Report{
		{Fence: 4, Outputs: " {\"url\":\"a\"}\n", Message: strings.Repeat("m", 5000)}, {Fence: 4, Outputs: `{}`}, {Fence: 3, Message: "late"},
	} {
		require.NoError(t, port.Report(t.Context(), "r-uid", report))
		got := stored()
		assert.EqualValues(t, 4, got.Fence)
		assert.JSONEq(t, `{"url":"a"}`, string(got.Outputs.Raw))
		assert.Len(t, got.Message, 4096)
	}
	require.NoError(t, port.Report(t.Context(), "r-uid", serve.Report{Fence: 5, Outputs: " "}))
	assert.Equal(t, &v1alpha1.JobReport{Fence: 5}, stored())
}

// A report that meets another change of the JobRun is sent again by the keeper.
func TestReportMoved(t *testing.T) {
	_, w, r, _ := shop(t)
	world := newWorld(t, w, r)
	port := Runs{Objects: world.objects(), Writer: world}
	world.refused = apierrors.NewConflict(schema.GroupResource{Resource: "jobruns"}, r.Name, errors.New("another version"))
	require.ErrorIs(t, port.Report(t.Context(), "r-uid", serve.Report{Fence: 1, Message: "it failed"}), serve.ErrMoved)
	require.NoError(t, port.Report(t.Context(), "r-uid", serve.Report{Fence: 1, Outputs: " "}), "there is nothing to write")
	require.ErrorIs(t, port.Report(t.Context(), "gone", serve.Report{Fence: 1, Message: "it failed"}), errUnknown)
	world.refused = nil
	require.NoError(t, port.Report(t.Context(), "r-uid", serve.Report{Fence: 1, Message: "it failed"}))
}

// A JobRun that has ended is not in the index, and is found all the same: a late message of it may still come.
func TestEnded(t *testing.T) {
	_, w, r, _ := shop(t)
	r.Finalizers, r.State.End = nil, &v1alpha1.JobRunEnd{Phase: "Lost", Reason: "Lost", Outcome: v1alpha1.OutcomeUnknown}
	assert.Empty(t, uidOf(r))
	assert.Equal(t, []string{"w-uid"}, uidOf(w))
	got, err := newWorld(t, w, r).objects().run(t.Context(), "r-uid")
	require.NoError(t, err)
	assert.Equal(t, r.Name, got.Name)
	r.Finalizers = []string{v1alpha1.Finalizer}
	assert.Equal(t, []string{"r-uid"}, uidOf(r))
}

// The input of a Run is read from the cache where that has it whole, and otherwise from the API server.
func TestFrozen(t *testing.T) {
	_, w, r, _ := shop(t)
	down := newWorld(t)
	down.fault = errors.New("down")
	got, err := Runs{Objects: Objects{Cache: newWorld(t, w, r), Live: down}}.Frozen(t.Context(), "r-uid")
	require.NoError(t, err)
	want, err := Runs{Objects: newWorld(t, w, r).objects()}.Get(t.Context(), "r-uid")
	require.NoError(t, err)
	assert.Equal(t, want, got)
	behind := r.DeepCopy()
	behind.State = nil
	got, err = Runs{Objects: Objects{Cache: newWorld(t, w, behind), Live: newWorld(t, w, r)}}.Frozen(t.Context(), "r-uid")
	require.NoError(t, err)
	assert.Equal(t, want, got)
	_, err = Runs{Objects: Objects{Cache: newWorld(t, w, behind), Live: down}}.Frozen(t.Context(), "r-uid")
	require.ErrorIs(t, err, down.fault)
}
