package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// withBundles makes sure that the shared cluster has the controller of bundles, once.
var withBundles sync.Once //nolint:gochecknoglobals // what is done once to the cluster that tests share

// deploys is a BundleDeployment of what a ConfigMap holds, by an account that may edit the
// namespace and nothing else, whose plans somebody approves.
const deploys = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: deployer}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: deployer}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}
subjects: [{kind: ServiceAccount, name: deployer}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: orcon-bundle-account}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: orcon-bundle-account}
subjects: [{kind: ServiceAccount, name: bundle-controller, namespace: orcon-system}]
---
apiVersion: orcon.tengu.io/v1alpha1
kind: BundleDeployment
metadata: {name: shop}
spec:
  sources: [{reference: "configmaps:content"}]
  serviceAccountName: deployer
  approval: {mode: Digest}
  rollback: {progressDeadline: 90s}
`

// inside is a BundleDeployment with a source at an address of the cluster.
const inside = `
apiVersion: orcon.tengu.io/v1alpha1
kind: BundleDeployment
metadata: {name: inside}
spec:
  sources: [{reference: "http://%s/a.tgz#sha256=e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}]
  serviceAccountName: deployer
`

// A bundle is an object of the cluster: its plan is approved, carried out by its own
// account, goes back by itself when it fails (BUNDLES.md 6), and with the object goes all
// that it made (BUNDLES.md 7).
func TestBundleDeployment(t *testing.T) {
	t.Parallel()
	w := withOrcon(t).inUnlabelled()
	w.operateBundles()
	program := controlplane.Binary(t, "orcon")
	w.content(bundle(t, "plain", "blue", "busybox:stable"))
	before := w.left()
	w.apply(deploys)
	w.stands("WaitingForApproval")
	assert.NotContains(t, w.left(), "deployment.apps/web")

	code, out := w.orcon(program, "approve", "shop", "--yes")
	require.Zero(t, code, out)
	assert.Contains(t, out, "create   Deployment "+w.namespace+"/web", "who approves sees what")
	w.stands("Healthy")
	job := w.jobs()
	require.Len(t, job, 1)
	assert.Equal(t, "hello from blue", strings.TrimSpace(w.Kubectl(t, "-n", w.namespace, "logs", "job/"+job[0])))

	w.content(bundle(t, "plain", "green", "registry.invalid/none:1"))
	code, out = w.orcon(program, "pause", "shop")
	require.Zero(t, code, out)
	w.stands("Paused")
	code, out = w.orcon(program, "resume", "shop")
	require.Zero(t, code, out)
	w.stands("WaitingForApproval")
	code, out = w.orcon(program, "approve", "shop", "--yes")
	require.Zero(t, code, out)
	assert.Contains(t, w.stands("Quarantined"), "registry.invalid/none:1", "it says why")
	assert.Equal(t, job, w.jobs(), "no Job ran again")
	assert.Contains(t, w.Kubectl(t, "-n", w.namespace, "get", "configmap", "page", "-o", "yaml"), "hello from blue")
	w.Kubectl(t, "-n", w.namespace, "rollout", "status", "deployment/web", "--timeout=60s")
	t.Log(w.Kubectl(t, "-n", w.namespace, "get", "bundledeployments,bundlerevisions,approvals"))
	t.Log(w.Kubectl(t, "-n", w.namespace, "describe", "bundledeployment", "shop"))

	address := w.Kubectl(t, "-n", "default", "get", "service", "kubernetes", "-o", "jsonpath={.spec.clusterIP}")
	w.apply(fmt.Sprintf(inside, address))
	require.Eventually(t, func() bool {
		message := w.Kubectl(t, "-n", w.namespace, "get", "bundledeployment", "inside", "-o", "jsonpath={.status.conditions[*].message}")
		return strings.Contains(message, "has an address of the cluster, which is refused")
	}, patience, time.Second, "a source in the cluster is refused (TRUST.md R4)")
	w.Kubectl(t, "-n", w.namespace, "delete", "bundledeployment", "inside", "--timeout="+patience.String())

	w.Kubectl(t, "-n", w.namespace, "delete", "bundledeployment", "shop", "--timeout="+patience.String())
	require.Eventually(t, func() bool { return assert.ObjectsAreEqual(before, w.left()) }, patience, time.Second, "%v and not %v", before, w.left())
}

// operateBundles installs the bundle controller in the shared cluster.
func (w *world) operateBundles() {
	w.t.Helper()
	withBundles.Do(func() {
		system := *w
		system.namespace = "orcon-system"
		code, out := system.orcon(controlplane.Binary(w.t, "orcon"), "install", "builtin:bundle-controller", "--name", "orcon-bundles", "--yes")
		require.Zero(w.t, code, out)
	})
}

// content puts a bundle into the ConfigMap that the deployment reads.
func (w *world) content(folder string) {
	w.t.Helper()
	manifest := w.Kubectl(w.t, "-n", w.namespace, "create", "configmap", "content", "--from-file="+filepath.Join(folder, "shop.yaml"), "--dry-run=client", "-o", "yaml")
	w.apply(manifest)
}

// stands waits until the deployment says for a reason how it is ready or not, and returns
// its message.
func (w *world) stands(reason string) string {
	w.t.Helper()
	last := ""
	require.EventuallyWithT(w.t, func(c *assert.CollectT) {
		last = w.Kubectl(w.t, "-n", w.namespace, "get", "bundledeployment", "shop", "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].reason}{" "}{.status.conditions[*].message}`)
		assert.Regexp(c, "^"+reason+" ", last)
	}, patience, time.Second)
	return last
}
