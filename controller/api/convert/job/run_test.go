package job

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/program"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// Every field of an end survives, and the end is final (JOBS.md J4).
func TestEndSurvives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s run.Status
		fill(t, reflect.ValueOf(&s).Elem())
		o := &v1alpha1.JobRun{}
		require.Equal(t, s.Ended(), SetEnd(o, s))
		if !s.Ended() {
			require.Nil(t, o.State)
			return
		}
		require.False(t, SetEnd(o, run.Status{Phase: run.Failed, Outcome: job.Unknown, Message: "later"}))
		got, err := ToPublished(stored(t, o))
		require.NoError(t, err)
		require.Equal(t, s, got)
		_, waits := ToWaiting(o)
		require.False(t, waits)
	})
}

// The owner of a Run is the Workspace for which it was frozen, whatever else owns it.
func TestOwnerOf(t *testing.T) {
	o := &v1alpha1.JobRun{}
	assert.Zero(t, OwnerOf(o))
	o.OwnerReferences = []metav1.OwnerReference{{Kind: "Deployment", UID: "d"}, {Kind: "JobWorkspace", UID: "w"}}
	assert.Equal(t, o.OwnerReferences[1], OwnerOf(o))
}

// An end that cannot be read is no Run that may start.
func TestUnreadableEnd(t *testing.T) {
	o := &v1alpha1.JobRun{State: &v1alpha1.JobRunState{End: &v1alpha1.JobRunEnd{Phase: "Queued", Exit: &v1alpha1.JobExit{Cause: "x"}}}}
	_, err := ToPublished(o)
	for _, says := range []string{"state.end.phase", "state.end.exit.cause", "state.end.outcome: an end needs an outcome"} {
		require.ErrorContains(t, err, says)
	}
	_, waits := ToWaiting(o)
	assert.False(t, waits)
}

// Every field of an input survives, so that its digest does, and a frozen one stays (JOBS.md J18).
func TestInputSurvives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var i run.Input
		fill(t, reflect.ValueOf(&i).Elem())
		if i.Parameters == nil {
			i.Parameters = map[string]any{}
		}
		o := &v1alpha1.JobRun{}
		require.NoError(t, SetInput(o, i))
		require.NoError(t, SetInput(o, run.Input{Action: "other"}))
		got, frozen, err := ToInput(stored(t, o))
		require.NoError(t, err)
		require.True(t, frozen)
		require.Equal(t, i, got)
	})
}

// A timeout that has passed stops a Run as a cancel does, and is kept apart from one (JOBS.md J7).
func TestStopped(t *testing.T) {
	o := &v1alpha1.JobRun{}
	assert.False(t, Stopped(o))
	SetTimedOut(o)
	assert.True(t, TimedOut(o))
	assert.True(t, Stopped(o))
	assert.False(t, Cancelled(o))
	o = &v1alpha1.JobRun{Spec: v1alpha1.JobRunSpec{Cancel: v1alpha1.CancelRequested}}
	assert.True(t, Stopped(o))
	assert.False(t, TimedOut(o))
}

// An input that was changed is not run.
func TestChangedInput(t *testing.T) {
	fresh := func(t *testing.T) *v1alpha1.JobRun {
		t.Helper()
		o := &v1alpha1.JobRun{}
		require.NoError(t, SetInput(o, run.Input{Action: "deploy", Artifact: run.Artifact{Image: "a"}, Parameters: map[string]any{"size": 1}}))
		return o
	}
	tests := map[string]struct {
		change func(*v1alpha1.JobInput)
		says   string
	}{
		"Image":      {func(i *v1alpha1.JobInput) { i.Image = "b" }, "but it was frozen with sha256:"},
		"Parameters": {func(i *v1alpha1.JobInput) { i.Parameters.Raw = []byte(`{"size": 2}`) }, "but it was frozen with sha256:"},
		"NoObject":   {func(i *v1alpha1.JobInput) { i.Parameters.Raw = []byte(`[]`) }, "state.input.parameters: cannot read the parameters"},
		"Twice":      {func(i *v1alpha1.JobInput) { i.Env = []v1alpha1.JobVariable{{Name: "A"}, {Name: "A"}} }, "state.input.env[1]: variable A is there twice"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			o := fresh(t)
			tc.change(o.State.Input)
			_, frozen, err := ToInput(o)
			assert.True(t, frozen)
			assert.ErrorContains(t, err, tc.says)
		})
	}
	_, frozen, err := ToInput(&v1alpha1.JobRun{})
	require.NoError(t, err)
	assert.False(t, frozen)
}

// A Run waits until it has an end; its deletion is a cancel.
func TestToWaiting(t *testing.T) {
	created := metav1.NewTime(time.Unix(1000, 0))
	o := &v1alpha1.JobRun{ObjectMeta: metav1.ObjectMeta{Name: "one", UID: "1", CreationTimestamp: created}}
	w, waits := ToWaiting(o)
	assert.True(t, waits)
	assert.Equal(t, run.Waiting{Run: workspace.Run{UID: "1", Name: "one"}, Created: created.UTC()}, w)
	o.Spec.Cancel = v1alpha1.CancelRequested
	w, _ = ToWaiting(o)
	assert.True(t, w.Cancelled)
	o.Spec.Cancel, o.DeletionTimestamp = "", &created
	assert.True(t, Cancelled(o))
}

// A status shows what is derived.
func TestStatuses(t *testing.T) {
	o := &v1alpha1.JobRun{ObjectMeta: metav1.ObjectMeta{Generation: 3}}
	SetRun(o, run.Status{Phase: run.Running, Reason: "Running", Message: "it runs on a", Attempt: 2, Fence: 5}, time.Unix(1, 0))
	assert.Equal(t, v1alpha1.JobRunPhase("Running"), o.Status.Phase)
	assert.Equal(t, []any{int64(3), int32(2), int64(5)}, []any{o.Status.ObservedGeneration, o.Status.Attempt, o.Status.Fence})
	assert.Len(t, o.Status.Conditions, 3)
	w := &v1alpha1.JobWorkspace{ObjectMeta: metav1.ObjectMeta{Generation: 4}}
	SetStanding(w, workspace.Workspace{Name: "shop/db"}, workspace.Extent{Fence: 1}, 2,
		workspace.Conditions(workspace.Workspace{Name: "shop/db"}, workspace.Extent{Fence: 1}), time.Unix(1, 0))
	assert.Equal(t, "StoreAhead", w.Status.Phase)
	assert.Equal(t, []any{int64(4), int32(2)}, []any{w.Status.ObservedGeneration, w.Status.QueuedRuns})
	assert.Len(t, w.Status.Conditions, 3)
}

// newTemplate returns a template without a fault.
func newTemplate() *v1alpha1.JobTemplate {
	return &v1alpha1.JobTemplate{ObjectMeta: metav1.ObjectMeta{Name: "db"}, Spec: v1alpha1.JobTemplateSpec{JobProgram: v1alpha1.JobProgram{
		Image: "registry/db@sha256:" + strings.Repeat("a", 64), Contract: "v1", Safety: v1alpha1.SafetyIdempotent,
		Parameters: &runtime.RawExtension{Raw: []byte(`{"properties": {"size": {"type": "integer"}}}`)},
		Actions: []v1alpha1.JobAction{
			{Name: "deploy", Entrypoint: []string{"/run"}, Args: []string{"up"}}, {Name: "destroy", Entrypoint: []string{"/run"}, Args: []string{}},
		},
		Env: []v1alpha1.JobVariable{{Name: "A", Value: "1"}, {Name: "B"}}, Exclude: []string{".terraform"}, Rescue: []string{"errored.tfstate"},
	}}}
}

// Each field of a template reaches the domain, and an input that is frozen from it survives.
func TestToTemplate(t *testing.T) {
	got, err := ToTemplate(newTemplate())
	require.NoError(t, err)
	schema := got.Schema
	assert.Equal(t, []string{"size"}, schema.Names())
	assert.Equal(t, program.TemplateVersion{
		Name: "db", Image: "registry/db@sha256:" + strings.Repeat("a", 64), Contract: "v1", Safety: job.Idempotent, Schema: schema,
		Actions: map[string]run.Action{"deploy": {Entrypoint: []string{"/run"}, Args: []string{"up"}}, "destroy": {Entrypoint: []string{"/run"}}},
		Env:     map[string]string{"A": "1", "B": ""}, Files: run.Files{Exclude: []string{".terraform"}, Rescue: []string{"errored.tfstate"}},
	}, got)
	for action := range got.Actions {
		values, err := ToParameters("spec.parameters", &runtime.RawExtension{Raw: []byte(`{"size": 123456789012345}`)})
		require.NoError(t, err)
		input, err := got.Freeze(action, values, nil)
		require.NoError(t, err)
		o := &v1alpha1.JobRun{}
		require.NoError(t, SetInput(o, input))
		_, _, err = ToInput(stored(t, o))
		require.NoError(t, err, "an empty list is as one that is not there")
	}
}

// Everything that is wrong with a template is named at once, with its cure.
func TestUnusableTemplate(t *testing.T) {
	o := newTemplate()
	o.Spec.Image, o.Spec.Safety = "registry/db:latest", "Idempotnt"
	o.Spec.Parameters.Raw = []byte(`{"type": 7}`)
	o.Spec.Env = append(o.Spec.Env, v1alpha1.JobVariable{Name: "A"})
	o.Spec.Actions = append(o.Spec.Actions, o.Spec.Actions[0])
	_, err := ToTemplate(o)
	for _, says := range []string{
		"cannot use template db: image", `spec.safety: value "Idempotnt" is unknown: did you mean "Idempotent"?`, "spec.parameters: cannot use the schema",
		"spec.env[2]: variable A is there twice: remove one", "spec.actions[2]: action deploy is there twice: rename one",
	} {
		require.ErrorContains(t, err, says)
	}
}

// The safety of a template that cannot be used is known, or Exclusive: a lock that does not expire harms least.
func TestToSafety(t *testing.T) {
	for word, want := range map[v1alpha1.JobSafety]bool{"": false, v1alpha1.SafetyExclusive: false, v1alpha1.SafetyIdempotent: true, "Sure": false} {
		o := &v1alpha1.JobTemplate{Spec: v1alpha1.JobTemplateSpec{JobProgram: v1alpha1.JobProgram{Safety: word, Image: "unusable"}}}
		assert.Equal(t, want, ToSafety(o.Spec.JobProgram).Expires(), word)
	}
}

// Parameters that are no object are refused with their field.
func TestToParameters(t *testing.T) {
	values, err := ToParameters("spec.parameters", nil)
	require.NoError(t, err)
	assert.Nil(t, values)
	_, err = ToParameters("spec.parameters", &runtime.RawExtension{Raw: []byte(`"x"`)})
	assert.ErrorContains(t, err, "spec.parameters: cannot read the parameters")
}
