package bench

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// system is Orcon's own namespace.
const system = "orcon-system"

// world is a cluster of a benchmark's own, so that nothing that another one
// left is measured. It has no node: pods are objects that do not run.
type world struct {
	*testing.B
	cluster *controlplane.Cluster
	admin   kubernetes.Interface
	root    string
}

func newWorld(b *testing.B) *world {
	b.Helper()
	w := &world{B: b, cluster: controlplane.Start(b), root: repository(b)}
	w.admin = w.cluster.Client(b)
	w.namespace(system, nil)
	return w
}

func (w *world) namespace(name string, labels map[string]string) {
	w.Helper()
	_, err := w.admin.CoreV1().Namespaces().Create(w.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, metav1.CreateOptions{})
	require.NoError(w, err)
}

// account makes a service account, without which no pod is made.
func (w *world) account(namespace, name string) {
	w.Helper()
	_, err := w.admin.CoreV1().ServiceAccounts(namespace).Create(w.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	require.NoError(w, err)
}

// run starts one of Orcon's binaries, as one replica of its Deployment, and
// waits until it is ready.
func (w *world) run(name string, arguments ...string) *process {
	w.Helper()
	port := freePort(w.B)
	arguments = append(arguments, "-kubeconfig="+w.cluster.Kubeconfig, "-namespace="+system, "-healthPort="+port, "-v=1")
	p := start(w.B, nil, controlplane.Binary(w.B, name), arguments...)
	p.health = "http://127.0.0.1:" + port
	require.Eventually(w, func() bool {
		response, err := http.Get(p.health + "/readyz")
		if err != nil {
			return false
		}
		_ = response.Body.Close()
		return response.StatusCode == http.StatusOK
	}, patience, 20*time.Millisecond, "%s is not ready", name)
	return p
}
