package bundles

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// viewer is orcon as a ServiceAccount runs it that may view the namespace.
func (w *world) viewer() *commandLine {
	w.t.Helper()
	w.apply(strings.ReplaceAll(`{apiVersion: v1, kind: ServiceAccount, metadata: {name: viewer, namespace: NS}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: viewer, namespace: NS}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{kind: ServiceAccount, name: viewer, namespace: NS}]
`, "NS", w.namespace))
	config, err := clientcmd.LoadFromFile(w.cluster.Kubeconfig)
	require.NoError(w.t, err)
	for _, user := range config.AuthInfos {
		user.Impersonate = "system:serviceaccount:" + w.namespace + ":viewer"
	}
	l := newCommandLine(w.t, w.cluster)
	l.kubeconfig = filepath.Join(w.t.TempDir(), "kubeconfig")
	require.NoError(w.t, clientcmd.WriteToFile(*config, l.kubeconfig))
	return l
}

// obey runs the commands that a message advises, and waits until what they grant holds.
func (w *world) obey(message string) {
	w.t.Helper()
	for line := range strings.Lines(message) {
		if command, found := strings.CutPrefix(line, "kubectl "); found {
			command, _, _ = strings.Cut(command, " --dry-run")
			words := strings.Fields(command)
			w.cluster.Kubectl(w.t, "delete", words[1], words[2], "-n", w.namespace, "--ignore-not-found")
			w.cluster.Kubectl(w.t, words...)
			if words[1] == "rolebinding" {
				w.cluster.Granted(w.t, w.namespace, words[2])
			}
		}
	}
}

// forbids is a policy against ConfigMaps with colour blue in one namespace, as an administrator may.
const forbids = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: NS}
spec:
  failurePolicy: Fail
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NS}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}]
  validations: [{expression: "object.data.colour != 'blue'", reason: Forbidden, message: "blue is not for us"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: NS}
spec: {policyName: NS, validationActions: [Deny]}
`

// A plan reports what a policy or a quota forbids: an account that may write does not take
// that for a permission that it lacks.
func TestPlanReportsPolicies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.apply(strings.ReplaceAll(forbids, "NS", w.namespace))
	l, folder := newCommandLine(t, w.cluster), source(t, blue)
	in := " -n " + w.namespace
	plan := func() string {
		_, out := l.run("plan " + folder + " --name shop" + in)
		return out
	}
	controlplane.Eventually(t, func() bool { return strings.Contains(plan(), "blue is not for us") }, soon, "a create")
	w.cluster.Kubectl(t, "create", "configmap", "colour", "-n", w.namespace, "--from-literal=colour=red")
	out := plan()
	assert.Contains(t, out, "blue is not for us", "a change")
	assert.NotContains(t, out, "you may not change")
}

// Reading needs get on the Secrets of the record, by name, and nothing else that view lacks:
// each message advises just that (BUNDLES.md 9 and 10).
func TestViewerReads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, w.install(blue+secret+service))
	l, folder := w.viewer(), source(t, blue+secret+service)
	in := " -n " + w.namespace

	code, out := l.run("history shop" + in)
	assert.Equal(t, 2, code)
	assert.Contains(t, out, "--verb=get --resource=secrets --resource-name=orcon-bundle-shop --dry-run")
	w.obey(out)
	assert.Contains(t, l.must("history shop"+in), "Succeeded")

	code, out = l.run("diff shop" + in)
	assert.Equal(t, 2, code, "the content of a revision is stored apart")
	assert.Contains(t, out, "--resource-name=orcon-bundle-shop --resource-name=orcon-bundle-shop-")
	w.obey(out)
	out = l.must("diff shop" + in)
	assert.Contains(t, out, "note: not compared, since you may not read Secret "+w.namespace+"/key")
	assert.Contains(t, out, "note: compared without a dry run, since you may not change ConfigMap "+w.namespace+"/colour")

	assert.Contains(t, l.must("diff -q shop"+in), "note: not compared, since you may not read Secret "+w.namespace+"/key", "it is no note beside the result")

	w.change("colour", "colour", "red")
	code, out = l.run("diff shop" + in)
	assert.Equal(t, 1, code)
	assert.Contains(t, out, `data.colour: "red" → "blue"`)

	out = l.must("plan " + folder + " --name shop" + in)
	assert.Contains(t, out, "update   ConfigMap "+w.namespace+"/colour")
	assert.Contains(t, out, "1 to update, 2 unchanged")
	assert.Contains(t, out, "note: to carry this out, system:serviceaccount:"+w.namespace+":viewer lacks permissions")
	assert.NotContains(t, out, "hunter")

	code, out = l.run("install --yes " + folder + " --name shop" + in)
	assert.Equal(t, 2, code)
	assert.Contains(t, out, "lacks permissions")
	roles, err := w.client.RbacV1().Roles(w.namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for _, role := range roles.Items {
		for _, rule := range role.Rules {
			assert.Equal(t, []string{"get"}, rule.Verbs, role.Name)
			assert.NotEmpty(t, rule.ResourceNames, "no Role allows all Secrets")
		}
	}
}
