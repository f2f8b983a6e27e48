package bundles

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/bundledeployment"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/supply"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/destination"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// soon is how long a test waits for what takes milliseconds on a quiet machine.
const soon = 3 * time.Minute

// operated is a namespace in which BundleDeployments are kept, by a controller with the
// rights that deployment/ gives it.
type operated struct {
	*world

	admin client.Client
	// config is the controller's own account, with nothing but what its roles grant.
	config *rest.Config
	ctx    context.Context //nolint:containedctx // the life of one test
}

//nolint:gochecknoglobals // what is installed once in the cluster that tests share
var installController sync.Once

func newOperated(t *testing.T) *operated {
	t.Helper()
	w := newWorld(t)
	installController.Do(func() { install(t, w.cluster) })
	return operatedIn(t, w)
}

// install installs what a bundle controller needs.
func install(t *testing.T, c *controlplane.Cluster) {
	t.Helper()
	root, err := controlplane.Root()
	require.NoError(t, err)
	c.Kubectl(t, "create", "namespace", "orcon-system")
	installFrom(t, c, root)
}

// installFrom installs what the bundle controller of a folder with sources needs into its namespace.
func installFrom(t *testing.T, c *controlplane.Cluster, sources string) {
	t.Helper()
	c.Kubectl(t, "apply", "-k", filepath.Join(sources, "deployment", "crd"))
	c.Kubectl(t, "apply", "-k", filepath.Join(sources, "deployment", "bundle-controller"))
	c.Established(t)
}

// operatedIn returns a namespace of a cluster in which a bundle controller is installed.
func operatedIn(t *testing.T, namespace *world) *operated {
	t.Helper()
	w := &operated{world: namespace, ctx: t.Context()}
	scheme := runtime.NewScheme()
	require.NoError(t, errors.Join(clientscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)))
	var err error
	w.admin, err = client.New(w.cluster.Config(t), client.Options{Scheme: scheme})
	require.NoError(t, err)
	w.config = w.account()
	w.allow()
	return w
}

// another is the same in a namespace of its own.
func (w *operated) another() *operated {
	next := *w
	next.world = &world{t: w.t, cluster: w.cluster, client: w.client, namespace: w.cluster.NewNamespace(w.t, "bundle-")}
	next.allow()
	return &next
}

// allow lets the namespace's own account do all that is needed there.
func (w *operated) allow() {
	w.t.Helper()
	w.cluster.Bind(w.t, w.namespace, "admin", w.defaultAccount())
	w.letIn()
}

// defaultAccount is the namespace's own account.
func (w *operated) defaultAccount() rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: w.namespace, Name: "default"}
}

// letIn lets the bundle controller act as the namespace's accounts.
func (w *operated) letIn() {
	w.t.Helper()
	controller := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: "orcon-system", Name: "bundle-controller"}
	w.cluster.Bind(w.t, w.namespace, bundle.AccountRole, controller)
}

// controller runs one, as its binary does, that sees its namespace alone.
func (w *operated) controller(change ...func(*bundledeployment.Reconciler, manager.Manager)) {
	w.t.Helper()
	ctx, end := context.WithCancel(w.ctx)
	m, err := ctrl.NewManager(w.config, manager.Options{
		Scheme: w.admin.Scheme(), Metrics: server.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: new(true)},
		Cache:  cache.Options{DefaultNamespaces: map[string]cache.Config{w.namespace: {}}},
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&v1alpha1.BundleRevision{}, &corev1.Namespace{}}}},
	})
	require.NoError(w.t, err)
	r := reconciler(w.t, m.GetClient(), m.GetAPIReader(), w.config, m.GetRESTMapper(), m.GetEventRecorder("bundle-controller"))
	for _, f := range change {
		f(r, m)
	}
	require.NoError(w.t, r.Setup(m))
	ended := make(chan error)
	go func() { ended <- m.Start(ctx) }()
	w.t.Cleanup(func() {
		end()
		assert.NoError(w.t, <-ended)
	})
}

func reconciler(t *testing.T, c client.Client, reader client.Reader, cfg *rest.Config, mapper meta.RESTMapper, recorder events.EventRecorder) *bundledeployment.Reconciler {
	t.Helper()
	rules := destination.Rules{}
	_ = rules.Allowed.Set("127.0.0.0/8,localhost") // the servers of tests
	folder, err := os.MkdirTemp(fetched, "")       //nolint:usetesting // children may outlive the test
	require.NoError(t, err)
	contents, err := supply.Isolate(folder)
	require.NoError(t, err)
	contents.Destinations = func(context.Context) (destination.Rules, error) { return rules, nil }
	return &bundledeployment.Reconciler{
		Contents: contents, Places: supply.Places(),
		Client: c, Reader: reader, Connect: bundledeployment.Impersonate(cfg, mapper), Events: recorder, Identity: "test", Account: "orcon-system:bundle-controller", Now: time.Now, Resync: time.Second, Pause: 100 * time.Millisecond,
	}
}

// account is the controller's own, with a real token: nothing that its roles do not grant
// is possible.
func (w *operated) account() *rest.Config {
	w.t.Helper()
	token, err := w.client.CoreV1().ServiceAccounts("orcon-system").CreateToken(w.ctx, "bundle-controller", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	require.NoError(w.t, err)
	cfg := rest.AnonymousClientConfig(w.cluster.Config(w.t))
	cfg.BearerToken, cfg.QPS = token.Status.Token, -1
	return cfg
}

// bundle puts manifests into a ConfigMap, and returns a deployment of them, named shop.
func (w *operated) bundle(manifests string) *v1alpha1.BundleDeployment {
	w.t.Helper()
	w.source("content-shop", manifests)
	d := &v1alpha1.BundleDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "shop"}}
	d.Spec.Sources = []v1alpha1.BundleSource{{Reference: "configmaps:content-shop"}}
	return d
}

// source writes the ConfigMap that manifests are read from.
func (w *operated) source(name, manifests string) {
	w.t.Helper()
	c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}, Data: map[string]string{"all.yaml": manifests}}
	if err := w.admin.Create(w.ctx, c); !apierrors.IsAlreadyExists(err) {
		require.NoError(w.t, err)
		return
	}
	require.NoError(w.t, w.admin.Update(w.ctx, c))
}

// ready waits until a deployment's Ready condition has a reason, and returns its message,
// and below it those of the other conditions.
func (w *operated) ready(d *v1alpha1.BundleDeployment, reason string) string {
	w.t.Helper()
	var last metav1.Condition
	w.t.Cleanup(func() {
		if w.t.Failed() {
			w.t.Logf("%s waited for %s, and last was %+v", d.Name, reason, last)
		}
	})
	controlplane.Eventually(w.t, func() bool {
		if w.admin.Get(w.ctx, client.ObjectKeyFromObject(d), d) != nil {
			return false
		}
		if ready := meta.FindStatusCondition(d.Status.Conditions, "Ready"); ready != nil {
			last = *ready
		}
		return last.Reason == reason && last.ObservedGeneration == d.Generation
	}, soon)
	all := []string{last.Message}
	for _, c := range d.Status.Conditions {
		all = append(all, c.Message)
	}
	return strings.Join(all, "\n")
}

// edit changes a deployment until nobody is in between.
func (w *operated) edit(d *v1alpha1.BundleDeployment, change func()) {
	w.t.Helper()
	controlplane.Eventually(w.t, func() bool {
		require.NoError(w.t, w.admin.Get(w.ctx, client.ObjectKeyFromObject(d), d))
		change()
		return w.admin.Update(w.ctx, d) == nil
	}, soon)
}

func configMap(name, value string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {k: \"" + value + "\"}\n---\n"
}

// A deployment is installed, kept as it is, upgraded, pruned and removed (BUNDLES.md 1, 3, 7, 12).
func TestDeployment(t *testing.T) {
	t.Parallel()
	w := newOperated(t)
	w.controller()
	before := len(w.secrets())
	d := w.bundle(configMap("a", "1") + configMap("b", "1"))
	require.NoError(t, w.admin.Create(w.ctx, d))
	assert.Contains(t, w.ready(d, "Healthy"), "all 2 objects are up to date and healthy\n")
	assert.Equal(t, "1", w.configMaps()["a"]["k"])

	w.change("a", "k", "edited")
	require.NoError(t, w.client.CoreV1().ConfigMaps(w.namespace).Delete(w.ctx, "b", metav1.DeleteOptions{}))
	controlplane.Eventually(t, func() bool { all := w.configMaps(); return all["a"]["k"] == "1" && all["b"] != nil }, soon, "what others change is put right")
	assert.EqualValues(t, 1, d.Status.ActiveRevision, "without a new revision")

	w.source("content-shop", configMap("a", "2"))
	controlplane.Eventually(t, func() bool { all := w.configMaps(); return all["a"]["k"] == "2" && all["b"] == nil }, soon, "an upgrade, and what left it is gone")
	controlplane.Eventually(t, func() bool {
		w.ready(d, "Healthy")
		return d.Status.HealthyRevision == 2
	}, soon, "the status follows")
	var first v1alpha1.BundleRevision
	require.NoError(t, w.admin.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: "shop-1"}, &first))
	assert.Equal(t, "Superseded", first.Status.State)
	assert.Equal(t, []string{"create ConfigMap " + w.namespace + "/a", "create ConfigMap " + w.namespace + "/b"}, first.Spec.Actions)

	require.NoError(t, w.admin.Delete(w.ctx, d))
	controlplane.Eventually(t, func() bool { return apierrors.IsNotFound(w.admin.Get(w.ctx, client.ObjectKeyFromObject(d), d)) }, soon)
	assert.NotContains(t, w.configMaps(), "a")
	controlplane.Eventually(t, func() bool { return len(w.secrets()) == before }, soon, "nothing is left of the record")
}

// Nothing is written where a deployment is paused, its account may not, or its content is
// wrong; and what stands goes on (BUNDLES.md 1, 9).
func TestDeploymentStops(t *testing.T) {
	t.Parallel()
	w := newOperated(t)
	w.controller()
	d := w.bundle(configMap("a", "1"))
	d.Spec.Paused = true
	require.NoError(t, w.admin.Create(w.ctx, d))
	assert.Contains(t, w.ready(d, "Paused"), "orcon resume shop")
	assert.NotContains(t, w.configMaps(), "a")
	w.edit(d, func() { d.Spec.Paused, d.Spec.ServiceAccountName = false, "nobody" })
	says := w.ready(d, "AccountForbidden")
	assert.Contains(t, says, "kubectl create rolebinding orcon-shop -n "+w.namespace)
	assert.Contains(t, says, "; the bundle controller tries again every 30s")
	assert.NotContains(t, w.configMaps(), "a")
	w.edit(d, func() { d.Spec.ServiceAccountName = "" })
	w.ready(d, "Healthy")

	w.edit(d, func() { d.Spec.Sources[0].Reference = "oci://registry.example.org/shop:latest" })
	assert.Contains(t, w.ready(d, "InvalidSpec"), "spec.sources[0].reference:")
	w.edit(d, func() { d.Spec.Sources[0].Reference = "configmaps:missing" })
	assert.Contains(t, w.ready(d, "FetchFailed"), "; revision 1 is kept")
	w.change("a", "k", "edited")
	controlplane.Eventually(t, func() bool { return w.configMaps()["a"]["k"] == "1" }, soon, "what stands is corrected all the same")
	w.source("content-broken", "kind: [")
	w.edit(d, func() { d.Spec.Sources[0].Reference = "configmaps:content-broken" })
	w.ready(d, "RenderFailed")
	w.source("content-empty", "# nothing\n")
	w.edit(d, func() { d.Spec.Sources[0].Reference = "configmaps:content-empty" })
	w.ready(d, "RenderFailed")
	assert.Contains(t, w.configMaps(), "a", "an empty bundle deletes nothing")
}

// A plan waits for its approval, which counts if and only if the plan is still the same
// (BUNDLES.md 1).
func TestDeploymentApproval(t *testing.T) {
	t.Parallel()
	w := newOperated(t)
	w.controller()
	d := w.bundle(configMap("a", "1"))
	d.Spec.Approval.Mode = "Digest"
	require.NoError(t, w.admin.Create(w.ctx, d))
	assert.Contains(t, w.ready(d, "WaitingForApproval"), "orcon approve shop -n "+w.namespace)
	assert.NotContains(t, w.configMaps(), "a")
	require.Equal(t, "shop-1", d.Status.Plan.Revision)
	planned := d.Status.Plan.Digest

	w.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: " + w.namespace + "}\ndata: {k: foreign}\n")
	require.ErrorContains(t, w.approve(d, planned, "somebody"), "spec.author is somebody, and you are admin")
	require.NoError(t, w.approve(d, planned, "admin"))
	assert.Contains(t, w.ready(d, "Conflict"), "ConfigMap "+w.namespace+"/a", "it was approved to create, and there is one now")
	assert.Equal(t, "foreign", w.configMaps()["a"]["k"])
	w.edit(d, func() { d.Spec.Conflicts = "Take" })
	assert.Contains(t, w.ready(d, "PlanChanged"), "no longer: create ConfigMap "+w.namespace+"/a")
	assert.Equal(t, "foreign", w.configMaps()["a"]["k"])
	require.NoError(t, w.approve(d, d.Status.Plan.Digest, "admin"))
	w.ready(d, "Healthy")
	assert.Equal(t, "1", w.configMaps()["a"]["k"])
	assert.Nil(t, d.Status.Plan)
}

// approve makes an Approval as its author.
func (w *operated) approve(d *v1alpha1.BundleDeployment, digest, author string) error {
	return w.admin.Create(w.ctx, &v1alpha1.Approval{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, GenerateName: d.Name + "-"},
		Spec:       v1alpha1.ApprovalSpec{Deployment: d.Name, PlanDigest: digest, Author: author},
	})
}
