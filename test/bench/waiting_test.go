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
)

const (
	// waiting and quick are how many BundleDeployments wait for a rollout that never ends, and how
	// many can be deployed at once.
	waiting, quick = 450, 50
)

// BenchmarkWaiting measures how long 50 BundleDeployments of a ConfigMap take until they are
// healthy, without others and while 450 others wait for their rollouts, and the processor time of
// those that wait. The target is 20 s (HOUSE.md, Structure 4).
func BenchmarkWaiting(b *testing.B) {
	w := newWorld(b)
	w.cluster.Kubectl(w, "apply", "-k", filepath.Join(w.root, "deployment", "crd"))
	w.cluster.Kubectl(w, "wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
	scheme := runtime.NewScheme()
	require.NoError(b, clientscheme.AddToScheme(scheme))
	require.NoError(b, v1alpha1.AddToScheme(scheme))
	config := w.cluster.Config(b)
	config.QPS = -1
	c, err := client.New(config, client.Options{Scheme: scheme})
	require.NoError(b, err)
	controller := w.run("bundle-controller", "-leaderElect=false")
	all := &several{world: w, client: c}
	for b.Loop() {
		all.deploys("alone", quick, fmt.Sprintf(configMap, "a"))
		b.ReportMetric(all.until("alone", quick, "Healthy").Seconds(), "alone-s")

		all.deploys("waiting", waiting, endless)
		all.until("waiting", waiting, "Progressing")
		began, took := time.Now(), controller.metric(b, processorTime)
		all.deploys("beside", quick, fmt.Sprintf(configMap, "a"))
		b.ReportMetric(all.until("beside", quick, "Healthy").Seconds(), "beside-s")
		took = controller.metric(b, processorTime) - took
		b.ReportMetric(took/time.Since(began).Seconds(), "cores")
	}
	b.ReportMetric(0, "ns/op") // of all together, which says nothing
}

// endless is a Deployment that never becomes ready: the cluster runs no pods.
const endless = `---
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: none}]}
`

// several are BundleDeployments of several namespaces.
type several struct {
	*world
	client client.Client
}

// deploys creates BundleDeployments of a manifest with a name of its own in each.
func (c *several) deploys(namespace string, count int, manifest string) {
	c.Helper()
	c.namespace(namespace, nil)
	c.cluster.Kubectl(c, "create", "rolebinding", "deployer", "-n", namespace, "--clusterrole=admin", "--serviceaccount="+namespace+":default")
	var all strings.Builder
	for i := range count {
		content := strings.ReplaceAll(strings.ReplaceAll(manifest, "%[1]s", fmt.Sprint("web-", i)), "{name: a}", fmt.Sprintf("{name: a%d}", i))
		fmt.Fprintf(&all, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: s%d, namespace: %s}\ndata: {all.yaml: %q}\n", i, namespace, content)
		fmt.Fprintf(&all, "---\napiVersion: orcon.tengu.io/v1alpha1\nkind: BundleDeployment\nmetadata: {name: b%d, namespace: %s}\nspec: {sources: [{reference: 'configmaps:s%[1]d'}]}\n",
			i, namespace)
	}
	file := filepath.Join(c.TempDir(), namespace+".yaml")
	require.NoError(c, os.WriteFile(file, []byte(all.String()), 0o600))
	c.cluster.Kubectl(c, "apply", "-f", file)
}

// until waits until all of a namespace are ready for a reason, or not, and returns how long that
// took since they were created.
func (c *several) until(namespace string, count int, reason string) time.Duration {
	c.Helper()
	began := time.Now()
	require.Eventually(c, func() bool {
		var list v1alpha1.BundleDeploymentList
		require.NoError(c, c.client.List(c.Context(), &list, client.InNamespace(namespace)))
		n := 0
		for _, d := range list.Items {
			if ready := meta.FindStatusCondition(d.Status.Conditions, "Ready"); ready != nil && ready.Reason == reason {
				n++
			}
		}
		return n == count
	}, 10*time.Minute, 200*time.Millisecond)
	return time.Since(began)
}
