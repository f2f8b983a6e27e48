package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Bundles that no controller looks at are shown with a note, and one that is being deleted meanwhile
// with the cure: it would wait for ever.
func TestBundleControllerStopped(t *testing.T) {
	const (
		ready    = `{"metadata":{"namespace":"shop","name":"blog"},"status":{"activeRevision":1,` + readyNow + `}}`
		deleting = `{"metadata":{"namespace":"shop","name":"blog","deletionTimestamp":"2026-01-02T03:04:05Z"},"status":{"activeRevision":1,` + readyNow + `}}`
		none     = `{"kind":"DeploymentList","apiVersion":"apps/v1","items":[]}`
		why      = "it is being deleted, but no bundle controller runs, which would delete its objects and let it go: "
		old      = "so that the states of BundleDeployments may be old, and nothing deploys or deletes them: "
	)
	deployment := func(replicas, ready string) string {
		return `{"kind":"DeploymentList","apiVersion":"apps/v1","items":[{"kind":"Deployment","apiVersion":"apps/v1","spec":{"replicas":` + replicas +
			`},"status":{"readyReplicas":` + ready + `},"metadata":{"namespace":"orcon-system","name":"bundle-controller","labels":{"app.kubernetes.io/name":"bundle-controller"}}}]}`
	}
	tests := map[string]struct {
		why, bundle, deployments string
		code                     int
		state, says, note        string
	}{
		"Scaled":            {"its Deployment has no replica", ready, deployment("0", "0"), 0, "ready", "", "note: Deployment bundle-controller of namespace orcon-system has no ready replica, " + old + "orcon check shows the cause\n"},
		"Absent":            {"nobody has installed one, or it is gone", ready, none, 0, "ready", "", "note: no bundle controller is installed, " + old + installBundles + "\n"},
		"Unseen":            {"the user may not list Deployments", ready, "", 0, "ready", "", ""},
		"Runs":              {"there is nothing to note", ready, deployment("2", "1"), 0, "ready", "", ""},
		"NoBundle":          {"nor without a BundleDeployment", "", none, 0, "", "", ""},
		"Deleting":          {"the conditions are those from before", deleting, deployment("2", "2"), exitFailed, "waiting", "it is being deleted", ""},
		"DeletingUnseen":    {"what the user may not see is no cause", deleting, "", exitFailed, "waiting", "it is being deleted", ""},
		"DeletingScaled":    {"the command that starts it", deleting, deployment("0", "0"), exitFailed, "failed", why + "kubectl -n orcon-system scale deployment bundle-controller --replicas=2", "note: "},
		"DeletingUnhealthy": {"it has another cause", deleting, deployment("2", "0"), exitFailed, "failed", why + "orcon check shows why Deployment bundle-controller of namespace orcon-system has no ready replica", "note: "},
		"DeletingAbsent":    {"the command that installs it", deleting, none, exitFailed, "failed", why + installBundles, "note: "},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			bundles := listOf("BundleDeployment", tc.bundle)
			server := answering(t, map[string]string{
				group + "namespaces/shop/relatedapplications": listOf("RelatedApplication", ""), group + "namespaces/shop/relations": listOf("Relation", ""),
				group + "namespaces/shop/offers": listOf("Offer", ""), group + "namespaces/shop/bundledeployments": bundles, group + "bundledeployments": bundles,
				"/apis/apps/v1/deployments": tc.deployments, "/api/v1/secrets": `{"kind":"SecretList","apiVersion":"v1","items":[]}`,
				"/api/v1/namespaces/shop": `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"shop","labels":{"tengu-injector":"enabled"}}}`,
			})
			code, out, errs := call("", append([]string{"status"}, server...)...)
			assert.Equal(t, tc.code, code, tc.why)
			assert.Contains(t, out, tc.state, tc.why)
			assert.Contains(t, out, tc.says, tc.why)
			notes(t, tc.note, errs)
			code, out, errs = call("", append([]string{"list"}, server...)...)
			assert.Zero(t, code, errs)
			assert.Contains(t, out, tc.state, tc.why)
			assert.Contains(t, out, tc.says, tc.why)
			notes(t, tc.note, errs)
		})
	}
}

// A webhook that does not run refuses pods that declare something: a note says so before a person looks at the pods of each
// application (SAFETY.md S1).
func TestStatusNotesAWebhookThatDoesNotRun(t *testing.T) {
	const group = "/apis/orcon.tengu.io/v1alpha1/"
	part := func(name, ready string) string {
		return `{"kind":"Deployment","apiVersion":"apps/v1","status":{"readyReplicas":` + ready + `},"metadata":{"namespace":"orcon-system","name":"` + name +
			`","labels":{"app.kubernetes.io/name":"` + name + `"}}}`
	}
	for ready, note := range map[string]string{
		"0": "note: Deployment relations-mutating-webhook of namespace orcon-system has no ready replica, so that pods that declare something " +
			"are not created: orcon check shows the cause\n",
		"1": "",
	} {
		code, _, errs := call("", append([]string{"status"}, answering(t, map[string]string{
			group + "namespaces/shop/relatedapplications": listOf("RelatedApplication", ""), group + "namespaces/shop/relations": listOf("Relation", ""),
			group + "namespaces/shop/offers": listOf("Offer", ""), group + "namespaces/shop/bundledeployments": listOf("BundleDeployment", ""),
			"/apis/apps/v1/deployments": `{"kind":"DeploymentList","apiVersion":"apps/v1","items":[` + part("relations-controller", "2") + "," +
				part("relations-mutating-webhook", ready) + `]}`,
			"/api/v1/namespaces/shop": `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"shop","labels":{"tengu-injector":"enabled"}}}`,
		})...)...)
		assert.Zero(t, code, errs)
		notes(t, note, errs)
	}
}

// notes asserts that an error output has a note, and none for "".
func notes(t *testing.T, want, errs string) {
	t.Helper()
	if want == "" {
		assert.NotContains(t, errs, "note: ")
		return
	}
	assert.Contains(t, errs, want)
}
