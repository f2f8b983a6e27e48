package bundles

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/cluster"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/crdify"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/plain"
	engine "gitlab.ilabt.imec.be/tengu/orcon/controller/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// world is a namespace of the shared cluster in which one deployment is installed.
type world struct {
	t         *testing.T
	cluster   *controlplane.Cluster
	client    kubernetes.Interface
	namespace string
	// writes counts those of all processes.
	writes atomic.Int64
	// timeout is how long a run may take.
	timeout time.Duration
}

func newWorld(t *testing.T) *world {
	t.Helper()
	c := controlplane.Shared(t)
	return &world{t: t, cluster: c, client: c.Client(t), namespace: c.NewNamespace(t, "bundle-"), timeout: time.Minute}
}

// process is an engine of its own. writes is how many it may make before it dies;
// negative for no limit.
type process struct {
	*engine.Engine

	ctx   context.Context //nolint:containedctx // the life of one process
	world *cluster.World
}

func (w *world) process(writes int64) process {
	w.t.Helper()
	return w.processOf(writes, func(*rest.Config) {})
}

// processOf is a process with a configuration of its own.
func (w *world) processOf(writes int64, change func(*rest.Config)) process {
	w.t.Helper()
	ctx, die := context.WithCancel(w.t.Context())
	w.t.Cleanup(die)
	config := w.cluster.Config(w.t)
	change(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return w.watched(next, writes, die) })
	owner := w.namespace + "/shop"
	view, err := cluster.New(config, owner)
	require.NoError(w.t, err)
	view.Definitions = crdify.Judge{}
	return process{ctx: ctx, world: view, Engine: &engine.Engine{
		Cluster: view, Store: cluster.NewStore(view), Owner: owner, Identity: "test", Now: time.Now,
		Timeout: w.timeout, Pause: 100 * time.Millisecond,
	}}
}

// watched counts writes, and lets the process die at one: that write and all after it
// are never made.
func (w *world) watched(next http.RoundTripper, writes int64, die func()) http.RoundTripper {
	var made atomic.Int64
	return controlplane.RoundTrip(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodGet || strings.Contains(r.URL.RawQuery, "dryRun") {
			return next.RoundTrip(r)
		}
		if writes >= 0 && made.Add(1) > writes {
			die()
			return nil, errors.New("this process is dead")
		}
		w.writes.Add(1)
		return next.RoundTrip(r)
	})
}

// wish is what some manifests mean.
func (p process) wish(t *testing.T, manifests string) engine.Wish {
	t.Helper()
	var tree bundle.Tree
	require.NoError(t, tree.Add("all.yaml", bundle.File{Content: []byte(manifests)}))
	objects, err := plain.Read(&tree)
	require.NoError(t, err)
	namespace, _, _ := strings.Cut(p.Owner, "/")
	placed, err := bundle.Place(objects, namespace, p.world.Namespaced)
	require.NoError(t, err)
	sequence, err := bundle.Order(placed)
	require.NoError(t, err)
	return engine.Wish{Sequence: sequence}
}

// install plans and carries out, as the command does.
func (p process) install(wish engine.Wish) error {
	plan, err := p.Plan(p.ctx, wish)
	if err != nil {
		return err
	}
	return p.Install(p.ctx, plan, wish)
}

func (p process) uninstall(confirmed ...string) error {
	plan, err := p.Plan(p.ctx, engine.Wish{Uninstall: true})
	if err != nil {
		return err
	}
	approval, err := plan.Confirm(confirmed...)
	if err != nil {
		return err
	}
	return p.Uninstall(p.ctx, plan, approval)
}

// install installs manifests by a process that lives.
func (w *world) install(manifests string) error {
	w.t.Helper()
	p := w.process(-1)
	return p.install(p.wish(w.t, manifests))
}

// configMaps are the ConfigMaps of the namespace by name, without the cluster's own.
func (w *world) configMaps() map[string]map[string]string {
	w.t.Helper()
	list, err := w.client.CoreV1().ConfigMaps(w.namespace).List(w.t.Context(), metav1.ListOptions{})
	require.NoError(w.t, err)
	all := map[string]map[string]string{}
	for _, c := range list.Items {
		if c.Name != "kube-root-ca.crt" {
			all[c.Name] = c.Data
		}
	}
	return all
}

// secrets are the Secrets of the namespace, those in which Orcon keeps its record among them.
func (w *world) secrets() []corev1.Secret {
	w.t.Helper()
	list, err := w.client.CoreV1().Secrets(w.namespace).List(w.t.Context(), metav1.ListOptions{})
	require.NoError(w.t, err)
	return list.Items
}

// change changes a ConfigMap as somebody else does.
func (w *world) change(name, key, value string) {
	w.t.Helper()
	c, err := w.client.CoreV1().ConfigMaps(w.namespace).Get(w.t.Context(), name, metav1.GetOptions{})
	require.NoError(w.t, err)
	c.Data[key] = value
	_, err = w.client.CoreV1().ConfigMaps(w.namespace).Update(w.t.Context(), c, metav1.UpdateOptions{FieldManager: "somebody"})
	require.NoError(w.t, err)
}

// apply makes an object as somebody else does.
func (w *world) apply(manifest string) {
	w.t.Helper()
	file := filepath.Join(w.t.TempDir(), "object.yaml")
	require.NoError(w.t, os.WriteFile(file, []byte(manifest), 0o600))
	w.cluster.Kubectl(w.t, "apply", "-f", file)
}
