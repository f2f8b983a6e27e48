package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	fleet "gitlab.ilabt.imec.be/tengu/orcon/controller/api/fleet/v1alpha1"
)

// integrations is the number of integrations in each of the environments of BenchmarkFleet.
const integrations = 500

// BenchmarkFleet measures a set of 500 integrations in three environments, as CronJobs by Orcon's own chart: the time until
// its 1,500 members are ready, and the controller's memory and writes while the set and each member are looked at ten times.
// The target is 400 MiB (FLEET-DESIGN 19).
func BenchmarkFleet(b *testing.B) {
	w := newWorld(b)
	w.cluster.Kubectl(w, "apply", "-k", filepath.Join(w.root, "deployment", "crd"))
	w.cluster.Kubectl(w, "wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
	w.namespace("many", nil)
	environments := []string{"one", "two", "three"}
	for _, e := range environments {
		w.namespace(e, nil)
		w.cluster.Kubectl(w, "create", "rolebinding", "many", "-n", e, "--clusterrole=admin", "--serviceaccount=many:default")
		w.account(e, "qontract-reconcile")
		w.cluster.Kubectl(w, "create", "configmap", "app-interface", "-n", e, "--from-literal=GITHUB_API=https://api.github.com")
		w.cluster.Kubectl(w, "create", "secret", "generic", "qontract-reconcile-toml", "-n", e, "--from-literal=config.toml=")
	}
	w.cluster.Kubectl(w, "create", "rolebinding", "many", "-n", "many", "--clusterrole=admin", "--serviceaccount=many:default")
	controller := w.run("bundle-controller", "-leaderElect=false", fmt.Sprint("-resync=", resync))
	scheme := runtime.NewScheme()
	require.NoError(b, clientscheme.AddToScheme(scheme))
	require.NoError(b, v1alpha1.AddToScheme(scheme))
	require.NoError(b, fleet.AddToScheme(scheme))
	config := w.cluster.Config(b)
	config.QPS = -1
	c, err := client.New(config, client.Options{Scheme: scheme})
	require.NoError(b, err)
	m := &many{world: w, client: c}
	for b.Loop() {
		began := time.Now()
		w.cluster.Kubectl(w, "create", "-n", "many", "-f", w.fleet(environments))
		var set fleet.IntegrationSet
		require.Eventually(b, func() bool {
			require.NoError(b, c.Get(b.Context(), client.ObjectKey{Namespace: "many", Name: "fleet"}, &set))
			return meta.IsStatusConditionTrue(set.Status.Conditions, "Ready")
		}, 30*time.Minute, time.Second)
		require.EqualValues(b, integrations*len(environments)+len(environments), set.Status.Members)
		b.ReportMetric(time.Since(began).Seconds(), "ready-s")
		b.ReportMetric(controller.memory(b, "VmHWM"), "peak-MiB")

		controller.looks(b, 4) // what is told in the end is told
		versions := m.versions()
		controller.looks(b, 10*float64(len(environments)*integrations)/deployments)
		b.ReportMetric(float64(len(versions)), "objects")
		b.ReportMetric(float64(changed(versions, m.versions())), "written")
		b.ReportMetric(controller.memory(b, "VmRSS"), "MiB")
	}
	b.ReportMetric(0, "ns/op") // of all together, which says nothing
}

// fleet returns the file of a set, its data and its chart.
func (w *world) fleet(environments []string) string {
	w.Helper()
	data := map[string]string{}
	for _, e := range environments {
		data[e+".yml"] = "$schema: /openshift/lean-namespace-1.yml\nname: " + e + "\ncluster: {name: one}\nenvironment: {name: " + e + "}\n"
	}
	for i := range integrations {
		name := fmt.Sprint("integration-", i)
		text := "$schema: /app-sre/integration-1.yml\nname: " + name + "\nmanaged:\n"
		for _, e := range environments {
			text += "- {namespace: {$ref: /" + e + ".yml}, spec: {cron: '0 * * * *', resources: {requests: {memory: 1Mi}, limits: {memory: 1Mi}}}}\n"
		}
		data[name+".yml"] = text
	}
	text := configMapOf("data", data)
	chart := filepath.Join(w.root, "deployment", "fleet-chart")
	folders := map[string]map[string]string{}
	require.NoError(w, filepath.WalkDir(chart, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		folder := strings.TrimPrefix(strings.TrimPrefix(filepath.Dir(path), chart), "/")
		if folders[folder] == nil {
			folders[folder] = map[string]string{}
		}
		folders[folder][entry.Name()] = string(content)
		return err
	}))
	var sources []string
	for folder, files := range folders {
		name := "chart-top" + folder
		text += configMapOf(name, files)
		sources = append(sources, fmt.Sprintf("{reference: 'configmaps:%s', destination: %q}", name, folder))
	}
	text += "---\napiVersion: orcon.tengu.io/v1alpha1\nkind: IntegrationSet\nmetadata: {name: fleet}\nspec:\n  environments: [" +
		strings.Join(environments, ", ") + "]\n  data: {sources: [{reference: 'configmaps:data'}]}\n  chart: {sources: [" + strings.Join(sources, ", ") + "]}\n"
	file := filepath.Join(w.TempDir(), "fleet.yaml")
	require.NoError(w, os.WriteFile(file, []byte(text), 0o600))
	return file
}

func configMapOf(name string, files map[string]string) string {
	text := "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata:\n"
	for file, content := range files {
		text += fmt.Sprintf("  %s: %q\n", file, content)
	}
	return text
}
