package job

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
)

// drifted returns condition Drifted.
func (w *world) drifted() string {
	w.t.Helper()
	c := meta.FindStatusCondition(w.workspace().Status.Conditions, "Drifted")
	if c == nil {
		return ""
	}
	return string(c.Status) + " " + c.Reason + ": " + c.Message
}

// checks returns the Runs of action check.
func (w *world) checks() (names []string) {
	w.t.Helper()
	var list v1alpha1.JobRunList
	require.NoError(w.t, w.client.List(w.t.Context(), &list))
	for _, o := range list.Items {
		if o.Spec.Action == "check" {
			names = append(names, o.Name)
		}
	}
	return names
}

// scheduled returns a world whose Workspace is checked every hour.
func scheduled(t *testing.T) (*world, *Reconciler) {
	t.Helper()
	w := newWorld(t)
	o := &v1alpha1.JobTemplate{}
	require.NoError(t, w.client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "tofu"}, o))
	o.Spec.Actions = append(o.Spec.Actions, v1alpha1.JobAction{Name: "check", Entrypoint: []string{"/check"}})
	require.NoError(t, w.client.Update(t.Context(), o))
	w.change(func(o *v1alpha1.JobWorkspace) { o.Spec.Check = &v1alpha1.JobCheck{Schedule: "@every 1h"} })
	r := w.process()
	w.pass(r, 0)
	return w, r
}

// JOBS-DESIGN.md 17: a check is made when it is due, one at a time, and condition Drifted has what it found.
func TestChecks(t *testing.T) {
	w, r := scheduled(t)
	assert.Empty(t, w.checks())
	assert.Equal(t, "False Unchecked: no check has ended yet", w.drifted())
	result, err := r.Reconcile(t.Context(), request())
	require.NoError(t, err)
	assert.InDelta(t, time.Hour, result.RequeueAfter, float64(2*time.Second))
	w.pass(r, 5*time.Hour)
	require.Len(t, w.checks(), 1, "what was missed is made up for once")
	w.pass(r, 5*time.Hour)
	require.Len(t, w.checks(), 1, "the last one has not ended")
	first := w.checks()[0]
	w.claim()
	w.finish(2, "")
	w.pass(r, 0)
	assert.Equal(t, "True Drifted: JobRun "+first+" found that what is there differs from the state: `orcon job logs shop/"+first+"` shows what", w.drifted())
	w.pass(w.process(), 0)
	require.Len(t, w.checks(), 2)
	w.claim()
	w.finish(1, "")
	w.pass(r, 0)
	assert.Contains(t, w.drifted(), "False CheckFailed: JobRun ")
	w.run("deploy")
	w.pass(r, 0)
	w.claim()
	w.finish(0, "sha256:1")
	w.pass(r, 0)
	assert.Contains(t, w.drifted(), "False Unchecked: the state has changed")
	w.pass(r, 2*time.Hour)
	w.claim()
	w.finish(0, "")
	w.pass(r, 0)
	assert.Contains(t, w.drifted(), "False InSync")
	w.change(func(o *v1alpha1.JobWorkspace) { o.Spec.Check = nil })
	w.pass(r, 24*time.Hour)
	assert.Empty(t, w.drifted())
	assert.Len(t, w.checks(), 3)
}

// A schedule that cannot be read has a cure, and stops nothing else.
func TestInvalidSchedule(t *testing.T) {
	w, r := scheduled(t)
	w.change(func(o *v1alpha1.JobWorkspace) { o.Spec.Check.Schedule = "at three" })
	w.run("one")
	w.pass(r, 24*time.Hour)
	assert.Contains(t, w.drifted(), `False ScheduleInvalid: cannot use schedule "at three"`)
	assert.Contains(t, w.of("one"), "PodPending")
	assert.Empty(t, w.checks())
}
