package bundles

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// idle is a Deployment that is healthy without pods.
const idle = `---
apiVersion: apps/v1
kind: Deployment
metadata: {name: idle}
spec:
  replicas: 0
  selector: {matchLabels: {app: idle}}
  template:
    metadata: {labels: {app: idle}}
    spec: {containers: [{name: idle, image: 'idle:1'}]}
`

// guard is a webhook that is asked about Jobs, and a Job.
const guard = `---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: GUARD}
webhooks:
- name: guard.example.org
  clientConfig: {url: 'https://guard.example.org/'}
  rules: [{apiGroups: [batch], apiVersions: [v1], resources: [jobs], operations: [CREATE]}]
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: GUARD}}
  sideEffects: None
  admissionReviewVersions: [v1]
---
apiVersion: batch/v1
kind: Job
metadata: {name: ask}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: ask, image: ask}]}}}
`

// A plan tells which pods start anew, what goes, which Jobs run, all in its order, and what
// cannot be verified before which phase.
func TestPlanTells(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.install(blue+extra+idle))

	p := w.process(0)
	next := green + strings.ReplaceAll(idle, "idle:1", "idle:2") + strings.ReplaceAll(guard, "GUARD", w.namespace) + strings.ReplaceAll(gadgets, "GROUP", w.namespace+".example.org")
	plan, err := p.Plan(t.Context(), p.wish(t, next))
	require.NoError(t, err)
	v := plan.Preview()
	var told []string
	for _, a := range v.Actions {
		told = append(told, strings.TrimSpace(string(a.Verb)+" "+a.Kind+" in "+a.Phase+" "+strings.Join(a.Remarks(), ", ")))
	}
	assert.Equal(t, []string{
		"create CustomResourceDefinition in crds", "update ConfigMap in configuration", "update Deployment in workloads its pods restart",
		"create ValidatingWebhookConfiguration in webhooks", "create Gadget in custom-resources", "run Job in jobs",
		"delete ConfigMap in configuration no longer part of the bundle",
	}, told)
	var unverified []string
	for _, u := range v.Unverified {
		unverified = append(unverified, u.Kind+" before "+u.After)
	}
	assert.Equal(t, []string{"Gadget before crds", "Job before webhooks"}, unverified)
	assert.Contains(t, v.Actions[2].Changes, bundle.PreviewChange{Path: `spec.template.spec.containers[name="idle"].image`, Before: `"idle:1"`, After: `"idle:2"`})
}
