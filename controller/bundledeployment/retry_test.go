package bundledeployment

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// A content that failed and is tried again is proposed where each plan is approved, and carried out once it is.
func TestRetryIsApproved(t *testing.T) {
	w := newWorld(t, web, func(d *v1alpha1.BundleDeployment) { d.Spec.Approval.Mode = string(domain.ByDigest) })
	w.sick = "Deployment"
	r := w.leader()
	w.run(r, string(domain.Unapproved))
	w.approve("first", shop.Name, w.deployment().Status.Plan.Digest)
	w.run(r, "Failed")
	w.sick = ""
	w.edit(func(d *v1alpha1.BundleDeployment) { d.Annotations = map[string]string{v1alpha1.RetryKey: "1"} })
	w.run(r, string(domain.Unapproved))
	for range 3 {
		w.pass(w.reconcile(r).RequeueAfter)
	}
	require.NotNil(t, w.deployment().Status.Plan)
	assert.Equal(t, 2, w.record.Last().Number, "it is proposed once")
	assert.Empty(t, w.deployment().Status.LastRetry, "it is not tried again yet")
	w.approve("second", shop.Name, w.deployment().Status.Plan.Digest)
	w.run(r, "Healthy")
	assert.Equal(t, "1", w.deployment().Status.LastRetry)
}
