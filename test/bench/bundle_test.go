package bench

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// configMap is an object that is healthy as soon as it is there.
const configMap = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {key: value}\n"

// BenchmarkBundle measures orcon with a bundle of 1,000 ConfigMaps: its plan, its
// installation, and the plan of what is there. The targets are 5 s for a plan and 30 s
// for the installation.
func BenchmarkBundle(b *testing.B) {
	const objects = 1000
	w := newWorld(b)
	program, folder := controlplane.Binary(b, "orcon"), b.TempDir()
	var all strings.Builder
	for i := range objects {
		fmt.Fprintf(&all, configMap, fmt.Sprint("c", i))
	}
	require.NoError(b, os.WriteFile(filepath.Join(folder, "all.yaml"), []byte(all.String()), 0o600))
	n := 0
	for b.Loop() {
		n++
		namespace := fmt.Sprint("big-", n)
		w.namespace(namespace, nil)
		orcon := func(metric, verb string, arguments ...string) {
			arguments = append([]string{verb, folder, "--name", "big", "-n", namespace, "--kubeconfig", w.cluster.Kubeconfig}, arguments...)
			command := exec.CommandContext(b.Context(), program, arguments...)
			began := time.Now()
			out, err := command.CombinedOutput()
			require.NoError(b, err, "%s", out)
			b.ReportMetric(time.Since(began).Seconds(), metric+"-s")
			b.ReportMetric(float64(command.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)/1024, metric+"-peak-MiB")
		}
		orcon("plan", "plan")
		orcon("install", "install", "--yes")
		orcon("plan-again", "plan")
	}
	b.ReportMetric(0, "ns/op") // of all together, which says nothing
}

const (
	deployments = 500
	// resync is how often each is looked at.
	resync = 30 * time.Second

	reconciles    = "controller_runtime_reconcile_total"
	processorTime = "process_cpu_seconds_total"
)

// BenchmarkDeployments measures 500 BundleDeployments of three ConfigMaps each: how long
// until all are healthy, and what it costs to keep them: memory, processor time, and what
// is written while each is looked at three times, every 30 s.
func BenchmarkDeployments(b *testing.B) {
	w := newWorld(b)
	w.cluster.Kubectl(w, "apply", "-k", filepath.Join(w.root, "deployment", "crd"))
	w.cluster.Kubectl(w, "wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
	w.namespace("many", nil)
	w.cluster.Kubectl(w, "create", "rolebinding", "many", "-n", "many", "--clusterrole=admin", "--serviceaccount=many:default")
	controller := w.run("bundle-controller", "-leaderElect=false", fmt.Sprint("-resync=", resync))
	scheme := runtime.NewScheme()
	require.NoError(b, clientscheme.AddToScheme(scheme))
	require.NoError(b, v1alpha1.AddToScheme(scheme))
	config := w.cluster.Config(b)
	config.QPS = -1
	c, err := client.New(config, client.Options{Scheme: scheme})
	require.NoError(b, err)
	m := &many{world: w, client: c}
	for b.Loop() {
		began := time.Now()
		w.cluster.Kubectl(w, "apply", "-f", m.manifests())
		require.Eventually(b, m.healthy, 10*time.Minute, time.Second)
		b.ReportMetric(time.Since(began).Seconds(), "healthy-s")
		b.ReportMetric(controller.memory(b, "VmHWM"), "peak-MiB")

		controller.looks(b, 1) // what is told in the end is told
		versions, took := m.versions(), controller.metric(b, processorTime)
		began = time.Now()
		controller.looks(b, 3)
		took = controller.metric(b, processorTime) - took
		b.ReportMetric(float64(len(versions)), "objects")
		b.ReportMetric(float64(changed(versions, m.versions())), "written")
		b.ReportMetric(took/time.Since(began).Seconds(), "cores")
		b.ReportMetric(controller.memory(b, "VmRSS"), "MiB")
	}
	b.ReportMetric(0, "ns/op") // of all together, which says nothing
}

// looks waits until the controller has looked at each deployment so many times, about.
func (p *process) looks(b *testing.B, times float64) {
	b.Helper()
	enough := p.metric(b, reconciles) + times*deployments
	require.Eventually(b, func() bool { return p.metric(b, reconciles) >= enough }, time.Hour, time.Second)
}

// many are BundleDeployments, each with a ConfigMap of its own for a source.
type many struct {
	*world
	client client.Client
}

// manifests returns the file of them.
func (m *many) manifests() string {
	m.Helper()
	var all strings.Builder
	for i := range deployments {
		content := ""
		for j := range 3 {
			content += fmt.Sprintf(configMap, fmt.Sprintf("m%d-%d", i, j))
		}
		fmt.Fprintf(&all, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: s%d, namespace: many}\ndata: {all.yaml: %q}\n", i, content)
		fmt.Fprintf(&all, "---\napiVersion: orcon.tengu.io/v1alpha1\nkind: BundleDeployment\nmetadata: {name: b%d, namespace: many}\nspec: {sources: [{reference: 'configmaps:s%[1]d'}]}\n", i)
	}
	file := filepath.Join(m.TempDir(), "many.yaml")
	require.NoError(m, os.WriteFile(file, []byte(all.String()), 0o600))
	return file
}

func (m *many) healthy() bool {
	var list v1alpha1.BundleDeploymentList
	require.NoError(m, m.client.List(m.Context(), &list, client.InNamespace("many")))
	for _, d := range list.Items {
		if !meta.IsStatusConditionTrue(d.Status.Conditions, "Ready") {
			return false
		}
	}
	return len(list.Items) == deployments
}

// versions are those of all that they are, were made of and made.
func (m *many) versions() map[string]string {
	m.Helper()
	all := map[string]string{}
	for _, list := range []client.ObjectList{&v1alpha1.BundleDeploymentList{}, &v1alpha1.BundleRevisionList{}, &corev1.ConfigMapList{}, &corev1.SecretList{}, &corev1.EventList{}} {
		require.NoError(m, m.client.List(m.Context(), list, client.InNamespace("many")))
		require.NoError(m, meta.EachListItem(list, func(o runtime.Object) error {
			object, err := meta.Accessor(o)
			all[string(object.GetUID())] = object.GetResourceVersion()
			return err
		}))
	}
	return all
}

// changed counts what is new, gone or of another version.
func changed(before, after map[string]string) int {
	before, n := maps.Clone(before), 0
	for uid, version := range after {
		if before[uid] != version {
			n++
		}
		delete(before, uid)
	}
	return n + len(before)
}
