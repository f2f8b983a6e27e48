package e2e

import (
	"bytes"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bundlev1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// patience is how long a test waits for what must happen by itself before it says
// that it does not: a busy machine starts few containers a second. How long
// something took is told, and not judged by it.
const patience = 5 * time.Minute

var namespaces atomic.Int64 //nolint:gochecknoglobals // names are unique in the cluster that tests share

// world is a namespace of the shared cluster, and what tests do in it.
type world struct {
	*controlplane.Cluster
	t         *testing.T
	namespace string
	client    kubernetes.Interface
	objects   client.Client
}

// newWorld makes a namespace that has opted in, removed at the end.
func newWorld(t *testing.T, c *controlplane.Cluster) *world {
	t.Helper()
	return worldWith(t, c, map[string]string{application.LabelOptIn: application.OptedIn})
}

// inUnlabelled is a namespace beside it that has not opted in.
func (w *world) inUnlabelled() *world {
	w.t.Helper()
	return worldWith(w.t, w.Cluster, nil)
}

func worldWith(t *testing.T, c *controlplane.Cluster, labels map[string]string) *world {
	t.Helper()
	w := &world{Cluster: c, t: t, client: c.Client(t), objects: objects(t, c), namespace: unique(int(namespaces.Add(1)))}
	w.makeNamespace(labels)
	t.Cleanup(func() {
		if t.Failed() {
			w.tell()
		}
		w.Kubectl(t, "delete", "namespace", w.namespace, "--wait=false")
	})
	return w
}

// objects returns a client for the cluster's kinds and Orcon's.
func objects(t *testing.T, c *controlplane.Cluster) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, errors.Join(clientscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme), bundlev1alpha1.AddToScheme(scheme)))
	config := c.Config(t)
	config.WarningHandler = rest.NoWarnings{}
	all, err := client.New(config, client.Options{Scheme: scheme})
	require.NoError(t, err)
	return all
}

func (w *world) makeNamespace(labels map[string]string) {
	w.t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace, Labels: labels}}
	_, err := w.client.CoreV1().Namespaces().Create(w.t.Context(), ns, metav1.CreateOptions{})
	require.NoError(w.t, err)
}

// tell prints what a person would look at after a failure.
func (w *world) tell() {
	for _, args := range [][]string{
		{"get", "pods,services,relations,relatedapplications,databags", "-o", "wide"},
		{"get", "events", "--sort-by=.lastTimestamp"},
		{"logs", "-l", application.KeyInjected + "=true", "--all-containers", "--prefix", "--tail=20", "--max-log-requests=20"},
	} {
		out, _ := w.try(args...)
		w.t.Logf("kubectl %s\n%s", strings.Join(args, " "), out)
	}
	out, _ := w.try("-n", "orcon-system", "logs", "-l", "app.kubernetes.io/part-of=orcon", "--prefix", "--tail=30")
	w.t.Logf("Orcon's logs\n%s", out)
}

// kubectl runs kubectl in the namespace and returns what it printed.
func (w *world) kubectl(args ...string) string {
	w.t.Helper()
	out, err := w.try(args...)
	require.NoErrorf(w.t, err, "kubectl %q: %s", args, out)
	return out
}

// try is kubectl for commands that may fail.
func (w *world) try(args ...string) (string, error) {
	return w.tryWith("", args...)
}

func (w *world) tryWith(stdin string, args ...string) (string, error) {
	all := append([]string{"--kubeconfig", w.Kubeconfig, "-n", w.namespace}, args...)
	cmd := exec.Command(filepath.Join(w.Programs, "kubectl"), all...)
	cmd.Stdin = strings.NewReader(stdin)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return strings.TrimRight(out.String(), "\n"), err
}

// apply applies a manifest in the namespace.
func (w *world) apply(manifest string) string {
	w.t.Helper()
	out, err := w.tryWith(manifest, "apply", "-f", "-")
	require.NoErrorf(w.t, err, "kubectl apply: %s\n%s", out, manifest)
	return out
}

// eventually waits until check returns "", which otherwise says what is missing. It
// looks the less often the longer it waits: how long it was is right to a fifth.
func (w *world) eventually(check func() string) {
	w.t.Helper()
	for begin := time.Now(); ; {
		missing := check()
		if missing == "" {
			return
		}
		waited := time.Since(begin)
		if waited > patience {
			require.FailNow(w.t, "waited in vain", missing)
		}
		<-time.After(min(max(waited/5, 250*time.Millisecond), 2*time.Second))
	}
}

// prints waits until kubectl prints exactly want.
func (w *world) prints(want string, args ...string) {
	w.t.Helper()
	w.eventually(func() string {
		out, err := w.try(args...)
		if err == nil && out == want {
			return ""
		}
		return "kubectl " + strings.Join(args, " ") + " prints " + out + ", not " + want
	})
}

// contains waits until kubectl prints something that contains want.
func (w *world) contains(want string, args ...string) {
	w.t.Helper()
	w.eventually(func() string {
		out, err := w.try(args...)
		if err == nil && strings.Contains(out, want) {
			return ""
		}
		return "kubectl " + strings.Join(args, " ") + " does not print " + want + " but " + out
	})
}
