package bundles

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/fleet/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// Two managers read the same data, each in a cluster of its own and for one environment, and each keeps to its own. The one
// that is killed time and again ends with the same objects as the other one (FLEET.md D4 and "Shown by").
func TestFleetManagers(t *testing.T) {
	t.Parallel()
	d := &fleetData{}
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	d.publish(t, map[string]string{"github": "--fast", "quay": ""})
	stage, production := newManager(t, "stage", server.URL), newManager(t, "production", server.URL)
	for _, m := range []*fleetManager{stage, production} {
		m.becomes(map[string]string{"qr-github": "#stage --fast", "qr-quay": "#stage ", "shared": ""})
		assert.Empty(t, m.configMaps("tools-"+m.other()), "environment %s", m.other())
	}

	t.Log("one manager is killed at any time while the data change")
	last := map[string]string{}
	for i := range 8 {
		last = map[string]string{"github": fmt.Sprint("--round=", i), fmt.Sprint("new-", i%3): "", "quay": ""}
		d.publish(t, last)
		<-time.After(time.Duration(150*i) * time.Millisecond)
		stage.kill()
		stage.start()
	}
	want := map[string]string{"shared": ""}
	for integration, arguments := range last {
		want["qr-"+integration] = "#stage " + arguments
	}
	for _, m := range []*fleetManager{stage, production} {
		m.becomes(want)
	}
	assert.Equal(t, stage.members(), production.members())
}

// fleetData serves a bundle of Qontract whose integrations run in both environments.
type fleetData struct{ bundle atomic.Pointer[[]byte] }

// publish replaces the data: the extra arguments of each integration.
func (d *fleetData) publish(t *testing.T, integrations map[string]string) {
	t.Helper()
	files := map[string]any{}
	var entries []any
	for _, environment := range []string{"stage", "production"} {
		files["/"+environment+".yml"] = map[string]any{
			"$schema": "/openshift/lean-namespace-1.yml", "name": "tools-" + environment,
			"cluster":     map[string]any{"name": environment, "serverUrl": "https://" + environment},
			"environment": map[string]any{"name": environment, "parameters": map[string]any{"CHANNEL": "stage"}},
		}
	}
	for integration, arguments := range integrations {
		entries = nil
		for _, environment := range []string{"stage", "production"} {
			spec := map[string]any{"resources": map[string]any{"limits": map[string]any{"memory": "1Mi"}}, "extraArgs": arguments}
			entries = append(entries, map[string]any{"namespace": map[string]any{"$ref": "/" + environment + ".yml"}, "spec": spec})
		}
		files["/"+integration+".yml"] = map[string]any{"$schema": "/app-sre/integration-1.yml", "name": integration, "managed": entries}
	}
	text, err := json.Marshal(map[string]any{"git_commit": "c", "data": files, "resources": map[string]any{}})
	require.NoError(t, err)
	d.bundle.Store(&text)
}

// ServeHTTP implements http.Handler.
func (d *fleetData) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	_, _ = w.Write(*d.bundle.Load())
}

// fleetManager is a cluster with a bundle controller for one environment, and a set.
type fleetManager struct {
	t           *testing.T
	cluster     *controlplane.Cluster
	environment string
	process     *exec.Cmd
}

func newManager(t *testing.T, environment, server string) *fleetManager {
	t.Helper()
	m := &fleetManager{t: t, cluster: controlplane.Start(t), environment: environment}
	install(t, m.cluster)
	for _, namespace := range []string{"fleet", "tools-stage", "tools-production"} {
		m.cluster.Kubectl(t, "create", "namespace", namespace)
		m.cluster.Kubectl(t, "create", "rolebinding", "fleet", "-n", namespace, "--clusterrole=admin", "--serviceaccount=fleet:default")
	}
	m.cluster.Kubectl(t, "create", "configmap", "chart", "-n", "fleet", "--from-literal=Chart.yaml=apiVersion: v2\nname: qr\nversion: 1.0.0\n")
	m.cluster.Kubectl(t, "create", "configmap", "templates", "-n", "fleet", "--from-literal=all.yaml="+templates)
	m.start()
	t.Cleanup(m.kill)
	w := &world{t: t, cluster: m.cluster, namespace: "fleet"}
	w.apply(`apiVersion: orcon.tengu.io/v1alpha1
kind: IntegrationSet
metadata: {name: fleet, namespace: fleet}
spec:
  cluster: ` + environment + `
  guard: {maxWorkloads: 100, maxPercent: 100}
  data: {sources: [{reference: "` + server + `/bundle.json", resolve: Track}]}
  chart:
    sources: [{reference: "configmaps:chart"}, {reference: "configmaps:templates", destination: templates}]
    values: {mark: "#"}
`)
	return m
}

// other returns the environment that the manager has nothing to do with.
func (m *fleetManager) other() string {
	if m.environment == "stage" {
		return "production"
	}
	return "stage"
}

func (m *fleetManager) start() {
	m.t.Helper()
	m.process = exec.CommandContext(m.t.Context(), controlplane.Binary(m.t, "bundle-controller"), "-kubeconfig="+m.cluster.Kubeconfig,
		"-namespace=orcon-system", "-leaderElect=false", "-environment="+m.environment, "-serverURL=https://"+m.environment, "-resync=1s",
		"-allow=127.0.0.0/8", "-webhookPort=0", fmt.Sprint("-healthPort=", controlplane.FreePort(m.t)), "-cache="+m.t.TempDir(), "-logtostderr")
	m.process.Stderr = m.t.Output()
	require.NoError(m.t, m.process.Start())
}

func (m *fleetManager) kill() {
	_ = m.process.Process.Kill()
	_ = m.process.Wait()
}

// becomes waits until the environment has exactly these ConfigMaps.
func (m *fleetManager) becomes(want map[string]string) {
	m.t.Helper()
	m.t.Cleanup(func() {
		if m.t.Failed() {
			m.t.Log(m.environment, m.cluster.Kubectl(m.t, "get", "integrationsets,bundledeployments", "-n", "fleet", "-o", "yaml"))
		}
	})
	controlplane.Eventually(m.t, func() bool { return maps.Equal(m.configMaps("tools-"+m.environment), want) }, 2*time.Minute, m.environment)
}

// configMaps returns the ConfigMaps that members made in a namespace.
func (m *fleetManager) configMaps(namespace string) map[string]string {
	m.t.Helper()
	list, err := m.cluster.Client(m.t).CoreV1().ConfigMaps(namespace).List(m.t.Context(), metav1.ListOptions{})
	require.NoError(m.t, err)
	made := map[string]string{}
	for _, c := range list.Items {
		if c.Name != "kube-root-ca.crt" {
			made[c.Name] = c.Data["k"]
		}
	}
	return made
}

// members lists the set's members.
func (m *fleetManager) members() []string {
	m.t.Helper()
	members := strings.Fields(m.cluster.Kubectl(m.t, "get", "bundledeployments", "-n", "fleet", "-l", v1alpha1.SetLabel+"=fleet", "-o",
		`jsonpath={range .items[*]}{.metadata.annotations.orcon\.tengu\.io/integration}{"\n"}{end}`))
	slices.Sort(members)
	return members
}
