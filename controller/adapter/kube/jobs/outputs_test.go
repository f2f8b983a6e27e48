package jobs

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
)

// owned returns the JobRun of shop as its Workspace owns it.
func owned(t *testing.T) *v1alpha1.JobRun {
	t.Helper()
	_, w, r, _ := shop(t)
	r.OwnerReferences = []metav1.OwnerReference{{APIVersion: "orcon.tengu.io/v1alpha1", Kind: "JobWorkspace", Name: w.Name, UID: w.UID}}
	return r
}

// sensitive returns a report with a sensitive output.
func sensitive(fence int64, value string) serve.Report {
	return serve.Report{Fence: fence, Outputs: `{"password":{"sensitive":true}}`, Sensitive: []contract.Output{{Name: "password", Value: value}}}
}

// JOBS.md J14: sensitive outputs are in a Secret that goes with the Workspace, those of the latest hold, and nowhere else.
func TestSensitiveOutputs(t *testing.T) {
	r := owned(t)
	world := newWorld(t, r)
	port := Runs{Objects: world.objects(), Writer: world}
	var s corev1.Secret
	for _, step := range []struct {
		fence       int64
		value, want string
	}{{4, `"first"`, "first"}, {3, `"late"`, "first"}, {4, `"again"`, "first"}, {5, `{"a":1}`, `{"a":1}`}} {
		require.NoError(t, port.Report(t.Context(), "r-uid", sensitive(step.fence, step.value)))
		require.NoError(t, world.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "network-outputs"}, &s))
		assert.Equal(t, step.want, string(s.Data["password"]))
	}
	assert.Equal(t, r.OwnerReferences, s.OwnerReferences)
	var o v1alpha1.JobRun
	require.NoError(t, world.Get(t.Context(), client.ObjectKeyFromObject(r), &o))
	assert.JSONEq(t, `{"password":{"sensitive":true}}`, string(o.State.Report.Outputs.Raw))
}

// A Secret of something else stays as it is, and one that may not be written names the cure. The keeper tries again.
func TestSensitiveOutputsRefused(t *testing.T) {
	other := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "network-outputs"}}
	world := newWorld(t, owned(t), other)
	port := Runs{Objects: world.objects(), Writer: world}
	err := port.Report(t.Context(), "r-uid", sensitive(4, `"x"`))
	require.ErrorContains(t, err, "Secret shop/network-outputs belongs to something else: delete or rename it")
	require.NoError(t, world.Delete(t.Context(), other))
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "network-outputs", nil)
	world.fault, world.good = forbidden, 1
	err = port.Report(t.Context(), "r-uid", sensitive(4, `"x"`))
	require.ErrorIs(t, err, forbidden)
	require.ErrorContains(t, err, "to ClusterRole orcon-job-outputs")
	world.fault = nil
	require.NoError(t, port.Report(t.Context(), "r-uid", sensitive(4, `"x"`)))
}
