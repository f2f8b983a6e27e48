package bundles

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// reader is a Deployment of no pods whose pods would read ConfigMap a.
const reader = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: none, envFrom: [{configMapRef: {name: a}}]}]}
---
`

// Where it is asked for, another setting is another pod template.
func TestDeploymentReplacesPodsOfAnotherSetting(t *testing.T) {
	t.Parallel()
	w := newOperated(t)
	w.controller()
	d := w.bundle(reader + configMap("a", "1"))
	d.Spec.Render.OnConfigChange = v1alpha1.OnConfigChangeRestart
	require.NoError(t, w.admin.Create(w.ctx, d))
	w.ready(d, "Healthy")
	web := func() *appsv1.Deployment {
		got, err := w.client.AppsV1().Deployments(w.namespace).Get(w.ctx, "web", metav1.GetOptions{})
		require.NoError(t, err)
		return got
	}
	before := web()
	require.NotEmpty(t, before.Spec.Template.Annotations[bundle.ChecksumKey])
	w.source("content-shop", reader+configMap("a", "2"))
	controlplane.Eventually(t, func() bool { return web().Generation > before.Generation }, soon)
	require.NotEqual(t, before.Spec.Template.Annotations, web().Spec.Template.Annotations)
	w.ready(d, "Healthy")
}
