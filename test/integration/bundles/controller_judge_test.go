package bundles

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// A policy approves what it allows, and a person what it does not (BUNDLES.md 1).
func TestDeploymentPolicy(t *testing.T) {
	t.Parallel()
	w := newOperated(t)
	w.controller()
	d := w.bundle(blue + extra)
	d.Spec.Approval = v1alpha1.BundleApproval{Mode: "Policy", Policy: []v1alpha1.BundleRule{{Name: "keeps", Expression: `plan.actions.all(a, a.verb == "nonsense`}}}
	require.NoError(t, w.admin.Create(w.ctx, d))
	assert.Contains(t, w.ready(d, "InvalidSpec"), "keeps")
	w.edit(d, func() {
		d.Spec.Approval.Policy[0] = v1alpha1.BundleRule{Name: "keeps", Expression: `plan.actions.all(a, a.verb != "delete")`, Message: "nothing goes without a person"}
	})
	w.ready(d, "Healthy")
	w.source("content-shop", green)
	assert.Contains(t, w.ready(d, "PolicyRefused"), "keeps: nothing goes without a person")
	assert.Equal(t, "blue", w.configMaps()["colour"]["colour"])
	require.NoError(t, w.approve(d, d.Status.Plan.Digest, "admin"))
	w.ready(d, "Healthy")
	assert.Equal(t, map[string]map[string]string{"colour": {"colour": "green"}}, w.made())
}

// What others shall set stays as they set it, what is only reported too, and all else is put
// right (BUNDLES.md 12).
func TestDeploymentDrift(t *testing.T) {
	t.Parallel()
	w := newOperated(t)
	w.controller()
	d := w.bundle(blue)
	d.Spec.Drift.Ignore = []v1alpha1.BundleIgnore{{APIVersion: "v1", Kind: "ConfigMap", Name: "colour", Paths: []string{"data.size"}}}
	require.NoError(t, w.admin.Create(w.ctx, d))
	w.ready(d, "Healthy")
	w.change("colour", "size", "4")
	w.change("colour", "colour", "red")
	controlplane.Eventually(t, func() bool { return w.configMaps()["colour"]["colour"] == "blue" }, soon)
	assert.Equal(t, "4", w.configMaps()["colour"]["size"])
	w.edit(d, func() { d.Spec.Drift.Mode = "Report" })
	w.ready(d, "Healthy")
	w.change("colour", "colour", "red")
	assert.Contains(t, w.ready(d, "Drifted"), "ConfigMap "+w.namespace+"/colour")
	assert.Equal(t, "red", w.configMaps()["colour"]["colour"])
	assert.Equal(t, "True", w.condition(d, "Ready"), "a change that is only reported is no fault")
	w.edit(d, func() { d.Spec.Drift.Mode = "Correct" })
	controlplane.Eventually(t, func() bool { return w.configMaps()["colour"]["colour"] == "blue" }, soon)
	w.eventually("Corrected", "ConfigMap "+w.namespace+"/colour was changed (data.colour); Orcon undid the change")
}

// What others delete is created again, and until then the deployment is not ready: the Event
// and the conditions name what happened (BUNDLES.md 12).
func TestDeploymentDeletion(t *testing.T) {
	t.Parallel()
	w := newOperated(t)
	w.controller()
	d := w.bundle(blue)
	require.NoError(t, w.admin.Create(w.ctx, d))
	assert.Contains(t, w.ready(d, "Healthy"), "every object is up to date and healthy; Orcon looks for changes by others every 1s")
	lose := func() {
		require.NoError(t, w.client.CoreV1().ConfigMaps(w.namespace).Delete(w.ctx, "colour", metav1.DeleteOptions{}))
	}
	lose()
	w.eventually("Drifted", "ConfigMap "+w.namespace+"/colour was deleted; Orcon is correcting it")
	w.eventually("Corrected", "ConfigMap "+w.namespace+"/colour was deleted; Orcon created it again")
	w.ready(d, "Healthy")
	assert.Equal(t, "True", w.condition(d, "Ready"))

	w.edit(d, func() { d.Spec.Drift.Mode = "Report" })
	w.ready(d, "Healthy")
	lose()
	assert.Contains(t, w.ready(d, "Drifted"), "ConfigMap "+w.namespace+"/colour was deleted; it stays so (spec.drift.mode: Report)")
	assert.Equal(t, "False", w.condition(d, "Ready"), "half of it is gone")
	assert.Equal(t, "False", w.condition(d, "Healthy"))
	assert.NotContains(t, w.configMaps(), "colour")
}

// A deletion by others is told before it is undone: a turn that fails in between loses
// neither Event (BUNDLES.md 12).
func TestDeploymentDriftIsToldBeforeItIsUndone(t *testing.T) {
	t.Parallel()
	w := newOperated(t)
	var lost atomic.Bool // until the first write of a status after it is set
	w.config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return controlplane.RoundTrip(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/bundledeployments/shop/status") && lost.CompareAndSwap(true, false) {
				return nil, errors.New("the connection is lost")
			}
			return next.RoundTrip(r)
		})
	})
	w.controller()
	d := w.bundle(blue)
	require.NoError(t, w.admin.Create(w.ctx, d))
	w.ready(d, "Healthy")
	lost.Store(true)
	require.NoError(t, w.client.CoreV1().ConfigMaps(w.namespace).Delete(w.ctx, "colour", metav1.DeleteOptions{}))
	w.eventually("Drifted", "ConfigMap "+w.namespace+"/colour was deleted; Orcon is correcting it")
	w.eventually("Corrected", "ConfigMap "+w.namespace+"/colour was deleted; Orcon created it again")
	w.ready(d, "Healthy")
}

// What stops a new revision hides no change to the one that stands (BUNDLES.md 12).
func TestDeploymentDriftIsToldWhileAPlanWaits(t *testing.T) {
	t.Parallel()
	w := newOperated(t)
	w.controller()
	d := w.bundle(blue)
	require.NoError(t, w.admin.Create(w.ctx, d))
	w.ready(d, "Healthy")
	w.edit(d, func() { d.Spec.Approval.Mode = "Digest" })
	w.source("content-shop", green)
	w.ready(d, "WaitingForApproval")
	w.change("colour", "colour", "red")
	w.eventually("Drifted", "ConfigMap "+w.namespace+"/colour was changed (data.colour); Orcon is correcting it")
	w.eventually("Corrected", "ConfigMap "+w.namespace+"/colour was changed (data.colour); Orcon undid the change")
	w.ready(d, "WaitingForApproval")
	assert.Equal(t, "blue", w.configMaps()["colour"]["colour"])
}

// condition returns the status of one of a deployment's conditions, as it was read last.
func (w *operated) condition(d *v1alpha1.BundleDeployment, kind string) string {
	w.t.Helper()
	c := meta.FindStatusCondition(d.Status.Conditions, kind)
	require.NotNil(w.t, c, kind)
	return string(c.Status)
}

// eventually waits for an Event with a reason and a note.
func (w *operated) eventually(reason, note string) {
	w.t.Helper()
	controlplane.Eventually(w.t, func() bool {
		events, err := w.client.EventsV1().Events(w.namespace).List(w.ctx, metav1.ListOptions{})
		return err == nil && slices.ContainsFunc(events.Items, func(e eventsv1.Event) bool { return e.Reason == reason && e.Note == note })
	}, soon, "%s: %s", reason, note)
}

// A deployment's own health checks say what is healthy, and what its workloads read is there
// before anything is written.
func TestDeploymentIsHealthyWhenItSaysSo(t *testing.T) {
	t.Parallel()
	w := newOperated(t)
	w.controller()
	d := w.bundle(blue + strings.ReplaceAll(broken, "{name: web, image: none}", "{name: web, image: none, envFrom: [{secretRef: {name: password}}]}"))
	d.Spec.HealthChecks = []v1alpha1.BundleHealthCheck{
		{Kind: "ConfigMap", Ready: `object.data.colour == "blue"`}, {Group: "apps", Kind: "Deployment", Ready: `object.spec.replicas == 3`},
	}
	require.NoError(t, w.admin.Create(w.ctx, d))
	assert.Contains(t, w.ready(d, "ConfigurationMissing"), "kubectl create secret generic password -n "+w.namespace)
	assert.Empty(t, w.made())
	_, err := w.client.CoreV1().Secrets(w.namespace).Create(w.ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "password"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	controlplane.Eventually(t, func() bool {
		return strings.Contains(w.ready(d, "Progressing"), "waiting for Deployment "+w.namespace+"/web: its health check waits for object.spec.replicas == 3")
	}, soon)
	w.cluster.Kubectl(t, "-n", w.namespace, "scale", "deployment", "web", "--replicas=3")
	w.ready(d, "Healthy")
	l := newCommandLine(t, w.cluster)
	in := "diff shop -n " + w.namespace
	assert.Empty(t, l.must(in), "orcon diff judges by the same checks")
	w.cluster.Kubectl(t, "-n", w.namespace, "scale", "deployment", "web", "--replicas=1")
	code, out := l.run(in)
	assert.Equal(t, 1, code)
	assert.Contains(t, out, "web is not healthy: its health check waits for object.spec.replicas == 3")
}

// The status has what is left out of a chart (CONTENT.md X2).
func TestDeploymentShowsNotes(t *testing.T) {
	t.Parallel()
	w := newOperated(t)
	w.controller()
	_, publish := archives(t)
	reference := publish(pack(t, tarEntry{name: "Chart.yaml", content: "{apiVersion: v2, name: shop, version: 0.1.0}"},
		tarEntry{name: "templates/a.yaml", content: configMap("a", "1")},
		tarEntry{name: "templates/ping.yaml", content: "{apiVersion: v1, kind: Pod, metadata: {name: ping, annotations: {helm.sh/hook: test}}}"}))
	d := &v1alpha1.BundleDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "shop"}}
	d.Spec.Sources = []v1alpha1.BundleSource{{Reference: reference}}
	require.NoError(t, w.admin.Create(w.ctx, d))
	w.ready(d, "Healthy")
	assert.Equal(t, []string{"Pod ping is a Helm test and is left out"}, d.Status.Notes)
}
