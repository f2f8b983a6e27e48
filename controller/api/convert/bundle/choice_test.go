package bundle

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

func TestDeploymentChoices(t *testing.T) {
	tests := map[string]struct {
		why                       string
		text                      string
		restarts, keeps, fourEyes bool
	}{
		"Unset":    {why: "the defaults", text: `{}`},
		"Defaults": {why: "spelt out", text: `{render: {onConfigChange: Ignore}, rollback: {onFailure: Restore}, approval: {selfApproval: Allow}}`},
		"Restart":  {why: "pods read new configuration", text: `{render: {onConfigChange: Restart}}`, restarts: true},
		"Keep":     {why: "a person looks at what failed", text: `{rollback: {onFailure: Keep}}`, keeps: true},
		"Forbid":   {why: "another user approves", text: `{approval: {selfApproval: Forbid}}`, fourEyes: true},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			var d v1alpha1.BundleDeployment
			require.NoError(t, yaml.UnmarshalStrict([]byte(tc.text), &d.Spec))
			d.Annotations = map[string]string{v1alpha1.RequesterKey: "eve"}
			assert.Equal(t, tc.restarts, Restarts(d.Spec.Render), tc.why)
			assert.Equal(t, tc.keeps, Keeps(d.Spec.Rollback), tc.why)
			assert.Equal(t, bundle.Gate{FourEyes: tc.fourEyes, Requester: "eve"}, ToGate(&d), tc.why)
		})
	}
}

func TestRevisionHealth(t *testing.T) {
	var r v1alpha1.BundleRevision
	assert.True(t, SetRevision(&r, bundle.Revision{State: bundle.StateProposed}))
	assert.Equal(t, v1alpha1.HealthUntried, r.Status.Health)
	assert.False(t, Begun(&r))
	assert.True(t, SetRevision(&r, bundle.Revision{State: bundle.StateActive, Begun: true}))
	assert.Equal(t, v1alpha1.HealthUnproven, r.Status.Health)
	assert.True(t, Begun(&r))
	assert.True(t, SetRevision(&r, bundle.Revision{State: bundle.StateSucceeded, Healthy: true}))
	assert.Equal(t, v1alpha1.HealthProven, r.Status.Health)
	assert.True(t, SetRevision(&r, bundle.Revision{State: bundle.StateSuperseded, Healthy: true}))
	assert.Equal(t, v1alpha1.HealthProven, r.Status.Health, "it could be restored")
	assert.False(t, SetRevision(&r, bundle.Revision{State: bundle.StateSuperseded, Healthy: true}))
	assert.True(t, SetRevision(&r, bundle.Revision{State: bundle.StateSuperseded, Healthy: true, Library: "a1"}))
	assert.Equal(t, "a1", r.Status.Library)
}
