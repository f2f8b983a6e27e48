package bundles

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// workloads adds a Deployment to each integration, whose account is one that all of a namespace share.
const workloads = `
{{- range .Values.integrations }}
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: "qr-{{ .name }}"}
  spec:
    selector: {matchLabels: {app: "{{ .name }}"}}
    template:
      metadata: {labels: {app: "{{ .name }}"}}
      spec:
        serviceAccountName: qr
        containers:
        - name: c
          image: example.org/x:1
          env: [{name: TOKEN, valueFrom: {secretKeyRef: {name: db, key: token}}}]
{{- end }}
{{- if not .Values.excludeService }}
- {apiVersion: v1, kind: ServiceAccount, metadata: {name: qr}}
{{- end }}
`

// plannedFleet is a fleet whose members are in another namespace, and folders with its chart and data.
type plannedFleet struct {
	*fleetWorld

	target, chart, folder string
	line                  *commandLine
}

func newPlannedFleet(t *testing.T) *plannedFleet {
	t.Helper()
	w := &plannedFleet{fleetWorld: newFleet(t), chart: t.TempDir(), folder: t.TempDir()}
	w.target, w.line = w.cluster.NewNamespace(t, "target-"), newCommandLine(t, w.cluster)
	w.data["ns.yml"] = strings.Replace(w.data["ns.yml"], w.namespace, w.target, 1)
	w.file(w.chart, "Chart.yaml", "apiVersion: v2\nname: qr\nversion: 1.0.0\n")
	w.file(w.chart, "templates/all.yaml", templates)
	w.declares("github", ordinary)
	return w
}

// permit lets the set's account do all that is needed in the namespace of its members.
func (w *plannedFleet) permit() {
	w.t.Helper()
	w.cluster.Bind(w.t, w.target, "admin", w.defaultAccount())
}

func (w *plannedFleet) file(folder, name, text string) {
	w.t.Helper()
	at := filepath.Join(folder, name)
	require.NoError(w.t, os.MkdirAll(filepath.Dir(at), 0o700))
	require.NoError(w.t, os.WriteFile(at, []byte(text), 0o600))
}

// plan runs fleet plan --live with the data as they are declared.
func (w *plannedFleet) plan(more string) (int, string) {
	w.t.Helper()
	require.NoError(w.t, os.RemoveAll(w.folder))
	for name, text := range w.data {
		w.file(w.folder, name, text)
	}
	return w.line.run("fleet plan " + w.chart + " --data " + w.folder + " --live --name fleet -n " + w.namespace + more)
}

// A plan for a cluster lists what the account lacks for all members, and prints Roles that give it (FLEET.md O1, P1).
func TestFleetPlanPermissions(t *testing.T) {
	t.Parallel()
	w := newPlannedFleet(t)
	w.declares("quay", ordinary)
	code, out := w.plan("")
	assert.Equal(t, 2, code)
	assert.Contains(t, out, "cannot plan for IntegrationSet "+w.namespace+"/fleet: there is none of that name")

	w.set.Spec.Paused = true
	require.NoError(t, w.admin.Create(w.ctx, w.set))
	code, out = w.plan("")
	assert.Equal(t, 2, code, out)
	account := "system:serviceaccount:" + w.namespace + ":default"
	assert.Contains(t, out, account+" lacks permissions that this needs:\n- in namespace "+w.target+": create, get, patch configmaps: bind it a Role with rules: ")
	assert.Equal(t, 1, strings.Count(out, "lacks permissions that this needs"), "once for all members")
	assert.Contains(t, out, "ConfigMap "+w.target+"/qr-github will be created\n", "the user's rights tell what would change")
	assert.Contains(t, out, "members that the cluster would stop: 3; members that change: 3")

	code, out = w.plan(" --quiet -o roles")
	assert.Equal(t, 2, code)
	roles, _, found := strings.Cut(out, "orcon: ")
	require.True(t, found)
	w.apply(roles)
	controlplane.Eventually(t, func() bool { code, out = w.plan(""); return code == 1 }, soon, "the Roles give all of it")
	assert.NotContains(t, out, "lacks permissions")
	assert.Contains(t, out, "members that change: 3")
	assert.Empty(t, w.members(), "a plan writes nothing")

	viewer := w.viewer()
	w.line, viewer = viewer, w.line
	code, out = w.plan("")
	assert.Equal(t, 2, code, out)
	assert.Contains(t, out, "members that could not be compared, since you may not read them: 3")
	assert.Contains(t, out, "permissions of "+account+" are unverified, and your own count: you may not act as it: kubectl create rolebinding ")
	assert.Contains(t, out, "unverified: ConfigMap "+w.target+"/qr-github: you may not read it")
	_, advice, _ := strings.Cut(out, "you may not act as it: ")
	w.line = viewer
	w.obey(advice[:strings.Index(advice, "\n")+1])
	w.line = w.viewer()
	controlplane.Eventually(t, func() bool { _, out = w.plan(""); return !strings.Contains(out, "unverified") }, soon, "the command helps")
}

// A plan for a cluster finds conflicts, refusals of admission, and what pods name and nothing has; what another member
// brings is not missing (FLEET.md C3, P1).
func TestFleetPlanFindings(t *testing.T) {
	t.Parallel()
	w := newPlannedFleet(t)
	w.file(w.chart, "templates/all.yaml", templates+workloads)
	w.set.Spec.Paused = true
	require.NoError(t, w.admin.Create(w.ctx, w.set))
	w.permit()
	var code int
	var out string
	controlplane.Eventually(t, func() bool { code, out = w.plan(""); return !strings.Contains(out, "lacks permissions") }, soon)
	assert.Equal(t, 2, code)
	assert.Contains(t, out, "  missing: Secret "+w.target+"/db does not exist (it needs keys token): kubectl create secret generic db -n "+w.target+" --from-literal=token=…\n"+
		"    needed by Deployment "+w.target+`/qr-github: spec.template.spec.containers[name="c"].env[name="TOKEN"]`)
	assert.NotContains(t, out, "ServiceAccount "+w.target+"/qr does not exist", "the shared member brings it")

	w.cluster.Kubectl(t, "create", "secret", "generic", "db", "-n", w.target, "--from-literal=token=x")
	code, out = w.plan("")
	assert.Equal(t, 1, code, out)
	assert.NotContains(t, out, "missing:")

	w.cluster.Kubectl(t, "create", "configmap", "qr-github", "-n", w.target, "--from-literal=k=x")
	code, out = w.plan("")
	assert.Equal(t, 2, code)
	assert.Contains(t, out, "  conflict: ConfigMap "+w.target+"/qr-github already exists and ")
	assert.Contains(t, out, "spec.conflicts of the IntegrationSet: Take")
	w.cluster.Kubectl(t, "delete", "configmap", "qr-github", "-n", w.target)

	w.apply(strings.ReplaceAll(strings.Replace(forbids, "object.data.colour != 'blue'", "object.metadata.name != 'shared'", 1), "NS", w.target))
	controlplane.Eventually(t, func() bool { code, out = w.plan(""); return strings.Contains(out, "blue is not for us") }, soon)
	assert.Equal(t, 2, code)
	assert.Contains(t, out, "  refused: ConfigMap "+w.target+"/shared: ")
	assert.Contains(t, out, "members that the cluster would stop: 1; members that change: 1\n")
}

// Against what is installed, a plan shows what the cluster would change, and what the data no longer declare (FLEET.md P1).
func TestFleetPlanInstalled(t *testing.T) {
	t.Parallel()
	w := newPlannedFleet(t)
	w.permit()
	require.NoError(t, w.admin.Create(w.ctx, w.set))
	w.becomes("MembersReady")
	code, out := w.plan("")
	assert.Equal(t, 0, code, out)
	assert.Empty(t, out)

	before := t.TempDir()
	for name, text := range w.data {
		w.file(before, name, text)
	}
	w.data["github.yml"] = strings.Replace(w.data["github.yml"], ordinary, "spec: {extraArgs: --all, resources: {limits: {memory: 1Mi}}}", 1)
	code, out = w.plan(" --base " + before)
	assert.Equal(t, 1, code)
	assert.Contains(t, out, "ConfigMap "+w.target+"/qr-github will be changed\n    data.k: \"#ops \" → \"#ops --all\"\n")

	delete(w.data, "github.yml")
	code, out = w.plan("")
	assert.Equal(t, 1, code)
	assert.Contains(t, out, "github in namespace "+w.target+", environment prod (/github.yml:4)\n")
	assert.Contains(t, out, "ConfigMap "+w.target+"/qr-github will be deleted\n")
	assert.Len(t, w.members(), 2, "a plan writes nothing")
}
