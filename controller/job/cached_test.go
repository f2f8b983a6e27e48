package job

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
)

// The cache drops most of a Run that is settled, and nothing of one that is not but the names of its writers.
func TestCached(t *testing.T) {
	run := func(phase v1alpha1.JobRunPhase, finalizers ...string) *v1alpha1.JobRun {
		return &v1alpha1.JobRun{
			ObjectMeta: metav1.ObjectMeta{
				Name: "one", Finalizers: finalizers, Annotations: map[string]string{"a": "b"}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "x"}},
			},
			Spec: v1alpha1.JobRunSpec{Workspace: "db"},
			State: &v1alpha1.JobRunState{
				Input: &v1alpha1.JobInput{Image: "i"}, Report: &v1alpha1.JobReport{Fence: 3},
				End: &v1alpha1.JobRunEnd{Phase: "Succeeded", Reason: "R", Message: "long", Fence: 3},
			},
			Status: v1alpha1.JobRunStatus{Phase: phase, Conditions: []metav1.Condition{{Type: "Ready", Status: "True", Reason: "R", Message: "long"}}},
		}
	}
	unshown := run("Succeeded")
	unshown.Status.Conditions[0].Reason = "Expiring"
	for _, o := range []*v1alpha1.JobRun{run("Running"), run("Succeeded", v1alpha1.Finalizer), unshown} {
		want := o.DeepCopy()
		want.ManagedFields = nil
		got, err := Cached(o)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	got, err := Cached(run("Succeeded"))
	require.NoError(t, err)
	assert.Equal(t, &v1alpha1.JobRun{
		ObjectMeta: metav1.ObjectMeta{Name: "one"}, Spec: v1alpha1.JobRunSpec{Workspace: "db"},
		State:  &v1alpha1.JobRunState{End: &v1alpha1.JobRunEnd{Phase: "Succeeded", Reason: "R", Fence: 3}},
		Status: v1alpha1.JobRunStatus{Phase: "Succeeded", Conditions: []metav1.Condition{{Type: "Ready", Reason: "R"}}},
	}, got)
	other := &v1alpha1.JobTemplate{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "x"}}}}
	got, err = Cached(other)
	require.NoError(t, err)
	assert.Same(t, other, got)
	assert.Empty(t, other.ManagedFields)
}
