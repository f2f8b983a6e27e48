package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/commits"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/copies"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/counts"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/identity"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/interfaces"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/meter"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/scope"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/secrets"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/settle"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/views"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/schema"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/serve"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/serve/limit"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// soon is how long a test waits for something that takes milliseconds on a
// machine with nothing else to do.
const soon = 2 * time.Minute

// long is how long the components of a cluster may take to work again after a restart.
const long = 5 * time.Minute

// controllerWorld is an opted-in namespace of the shared cluster, with Orcon's
// kinds and the controller's own roles installed from deployment/.
type controllerWorld struct {
	t         *testing.T
	ctx       context.Context //nolint:containedctx // the life of one test
	cluster   *controlplane.Cluster
	scheme    *runtime.Scheme
	admin     client.Client
	namespace string
	// ahead is how far the controllers' clock is before the machine's.
	ahead *atomic.Int64
	// streamAge is the greatest age of the controllers' streams; 0 for the default.
	streamAge time.Duration
	// between is how controllers reach the API server; nil for a direct connection.
	between *apiLink
}

// now is the controllers' clock.
func (w *controllerWorld) now() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }

//nolint:gochecknoglobals // what is installed once in the cluster that tests share
var installOrcon sync.Once

func newControllerWorld(t *testing.T) *controllerWorld {
	t.Helper()
	cluster := controlplane.Shared(t)
	installOrcon.Do(func() { install(t, cluster) })
	return newWorldIn(t, cluster)
}

// install installs the kinds and what the controller may do.
func install(t *testing.T, cluster *controlplane.Cluster) {
	t.Helper()
	root, err := controlplane.Root()
	require.NoError(t, err)
	cluster.Kubectl(t, "apply", "-k", filepath.Join(root, "deployment", "crd"))
	cluster.Established(t)
	cluster.Kubectl(t, "apply", "-k", filepath.Join(root, "deployment", "rbac"))
	held(t, cluster)
}

// held waits until the API server knows the policies that hold the controller's account: it refuses a restart
// in a namespace that has not opted in. It learns all of them at once.
func held(t *testing.T, cluster *controlplane.Cluster) {
	t.Helper()
	w := &controllerWorld{t: t, ctx: t.Context(), cluster: cluster, scheme: clientscheme.Scheme, namespace: cluster.NewNamespace(t, "held-")}
	web := w.consumer("web", nil)
	_, err := cluster.Client(t).AppsV1().Deployments(w.namespace).Create(t.Context(), web, metav1.CreateOptions{})
	require.NoError(t, err)
	controller := w.as(controllerUser)
	controlplane.Eventually(t, func() bool {
		return apierrors.IsForbidden(w.patch(controller, web.DeepCopy(), `{"spec":{"paused":true}}`))
	}, soon, "the policies never hold the controller")
}

// newWorldIn returns a new namespace of a cluster that has the kinds.
func newWorldIn(t *testing.T, cluster *controlplane.Cluster) *controllerWorld {
	t.Helper()
	var err error
	w := &controllerWorld{t: t, ctx: t.Context(), cluster: cluster, scheme: runtime.NewScheme(), ahead: &atomic.Int64{}}
	require.NoError(t, errors.Join(clientscheme.AddToScheme(w.scheme), v1alpha1.AddToScheme(w.scheme)))
	w.admin, err = client.New(cluster.Config(t), client.Options{Scheme: w.scheme})
	require.NoError(t, err)
	w.namespace = w.newNamespace(map[string]string{application.LabelOptIn: application.OptedIn})
	return w
}

func (w *controllerWorld) newNamespace(labels map[string]string) string {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "controller-", Labels: labels}}
	w.create(ns)
	return ns.Name
}

// allow gives a user a role for people in the namespace.
func (w *controllerWorld) allow(user, role string) {
	w.t.Helper()
	w.cluster.Bind(w.t, w.namespace, role, rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user})
}

func (w *controllerWorld) create(all ...client.Object) {
	w.t.Helper()
	for _, o := range all {
		require.NoError(w.t, w.admin.Create(w.ctx, o))
	}
}

// change reads an object, changes it and writes it, until nobody is in between.
func (w *controllerWorld) change(o client.Object, change func()) {
	w.t.Helper()
	controlplane.Eventually(w.t, func() bool {
		require.NoError(w.t, w.admin.Get(w.ctx, client.ObjectKeyFromObject(o), o))
		change()
		return w.admin.Update(w.ctx, o) == nil
	}, soon)
}

func (w *controllerWorld) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.namespace, Name: name}
}

// provider is a Service without pods, as in the demo.
func (w *controllerWorld) provider(name, externalName string) *corev1.Service {
	s := &corev1.Service{ObjectMeta: w.meta(name), Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: externalName}}
	s.Labels = map[string]string{application.KeyProvides: strings.TrimSuffix(name, "-endpoint")}
	return s
}

// consumer is a Deployment whose pods have an agent, as the webhook would give.
func (w *controllerWorld) consumer(name string, annotations map[string]string) *appsv1.Deployment {
	one, always := int32(1), corev1.ContainerRestartPolicyAlways
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{ObjectMeta: w.meta(name), Spec: appsv1.DeploymentSpec{
		Replicas: &one, Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: annotations},
			Spec: corev1.PodSpec{
				InitContainers: []corev1.Container{{Name: injection.AgentContainer, Image: "agent", RestartPolicy: &always}},
				Containers:     []corev1.Container{{Name: "app", Image: "app"}},
			},
		},
	}}
}

// asController is the configuration of the controller's ServiceAccount: what
// deployment/rbac does not grant, the controller cannot do here either.
func (w *controllerWorld) asController() *rest.Config {
	cfg := w.cluster.Config(w.t)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: controllerUser}
	if w.between != nil {
		w.between.carry(cfg)
	}
	return cfg
}

// replica is a controller that runs in the test's process.
type controllerReplica struct {
	api  *httptest.Server
	stop func()
	// done is closed when it has ended, by stop or by itself.
	done chan struct{}
	// refused counts requests that its roles do not allow.
	refused *atomic.Int64
	// reviewed counts the answers to its token reviews.
	reviewed *atomic.Int64
	// written counts the bytes of objects that it has written.
	written *atomic.Int64
	// requested counts its requests to the API server.
	requested *atomic.Int64
	// informers are its caches.
	informers cache.Cache
}

// client returns a client with connections of its own, as each agent has.
func (r *controllerReplica) client(t *testing.T) *http.Client {
	t.Helper()
	transport := r.api.Client().Transport.(*http.Transport).Clone() //nolint:forcetypeassert // httptest's
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// controller runs a controller until the test ends or it is stopped. writes is
// how many it may make before it dies; negative for no limit.
func (w *controllerWorld) controller(writes int64) *controllerReplica {
	w.t.Helper()
	return w.controllerOf(writes, "")
}

// controllerOf runs a controller as controller does, but counts only its writes to paths that contain this text:
// a controller also does what is due in the namespaces of other tests.
func (w *controllerWorld) controllerOf(writes int64, counted string) *controllerReplica {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.ctx)
	r := &controllerReplica{done: make(chan struct{}), refused: &atomic.Int64{}, reviewed: &atomic.Int64{}, written: &atomic.Int64{}}
	r.requested = &atomic.Int64{}
	cfg := w.asController()
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return watched(next, r, quota{writes, counted, cancel})
	})
	definitions, err := object.NewDefinitions(cfg)
	require.NoError(w.t, err)
	kept, err := scope.New(cfg)
	require.NoError(w.t, err)
	cfg.Wrap(meter.Wrap)
	m, err := ctrl.NewManager(cfg, manager.Options{
		Scheme: w.scheme, Cache: kept.CacheOptions(definitions.CacheOptions()), Metrics: server.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	require.NoError(w.t, err)
	r.informers = m.GetCache()
	require.NoError(w.t, m.Add(definitions))
	require.NoError(w.t, kept.Follow(ctx, m.GetCache()))
	interfaces, err := interfaces.New(m.GetCache())
	require.NoError(w.t, err)
	interfaces.Writer = m.GetClient()
	contents := secrets.Contents{Reader: m.GetAPIReader(), Writer: m.GetClient(), Now: time.Now, Turns: &object.Turns{}}
	require.NoError(w.t, (&secrets.Vault{Contents: contents, Cached: m.GetCache()}).Follow(ctx, m.GetCache()))
	world := &settle.Settler{Reader: kept.Reader(m.GetCache()), Live: m.GetAPIReader(), Writer: m.GetClient(), Events: m.GetEventRecorder("relations-controller"), Now: w.now, Interfaces: interfaces, Account: "default:relations-controller", LookEvery: time.Second}
	world.Outboxes = &commits.Commits{
		Reader: m.GetAPIReader(), Writer: m.GetClient(), Now: w.now,
		Contents: &secrets.Contents{Reader: m.GetAPIReader(), Writer: m.GetClient(), Now: w.now},
	}
	require.NoError(w.t, object.Index(ctx, m.GetFieldIndexer()))
	require.NoError(w.t, world.Follow(ctx, m.GetCache()))
	require.NoError(w.t, (&relation.Reconciler{World: copies.NewKeeper(world, m.GetAPIReader(), m.GetClient())}).Setup(m))
	require.NoError(w.t, (&schema.Reconciler{World: interfaces}).Setup(m))
	clients, err := kubernetes.NewForConfig(cfg)
	require.NoError(w.t, err)
	store := &commits.Commits{Reader: m.GetAPIReader(), Writer: m.GetClient(), Now: time.Now, Turns: contents.Turns, Leases: &object.Leases{}, Interfaces: interfaces, Contents: &contents}
	statuses := &commits.Statuses{Reader: m.GetAPIReader(), Writer: m.GetClient(), Now: time.Now, Turns: contents.Turns, Leases: store.Leases, Events: m.GetEventRecorder("relations-controller")}
	api := &serve.Server{
		Identities: identity.NewReviewer(m.GetCache(), m.GetClient(), clients.Discovery().RESTClient()), Now: time.Now,
		Store: store, Statuses: statuses,
		Secrets: &secrets.Secrets{Contents: contents, Deliveries: commits.Pending{Cached: m.GetCache(), Commits: store}},
	}
	api.Streams.Greatest = w.streamAge
	views := &views.Views{Reader: m.GetCache(), Changed: api.ApplicationChanged, PodChanged: api.PodChanged}
	api.World = views
	counter := counts.Counter{Cached: m.GetCache(), Live: m.GetAPIReader(), Writer: m.GetClient()}
	api.Raise = counter.Raise
	api.Budgets = limit.NewBudgets(views, statuses, time.Now)
	store.Afford = api.Budgets.Afford
	synced := make(chan struct{})
	require.NoError(w.t, m.Add(manager.RunnableFunc(func(ctx context.Context) error {
		if err := errors.Join(views.Follow(ctx, m.GetCache()), counter.Follow(ctx, m.GetCache())); err != nil {
			return err
		}
		close(synced)
		<-ctx.Done()
		return nil
	})))
	go func() {
		defer close(r.done)
		_ = m.Start(ctx)
	}()
	r.api = httptest.NewUnstartedServer(nil)
	r.api.Config = api.HTTP("", nil)
	r.api.EnableHTTP2 = true
	r.api.StartTLS()
	r.stop = sync.OnceFunc(func() {
		cancel()
		<-r.done
		r.api.CloseClientConnections()
		r.api.Close()
	})
	w.t.Cleanup(r.stop)
	select {
	case <-synced:
	case <-r.done:
	case <-time.After(soon):
		require.Fail(w.t, "the controller's caches did not sync")
	}
	return r
}

// quota is how many writes a process makes to paths with a text in them before it dies; negative for no limit.
type quota struct {
	writes  int64
	counted string
	die     func()
}

// watched counts what the roles refuse and the reviews, and lets the process die at a write:
// that write and all after it are never made.
func watched(next http.RoundTripper, r *controllerReplica, l quota) http.RoundTripper {
	var (
		made atomic.Int64
		dead atomic.Bool
	)
	return controlplane.RoundTrip(func(req *http.Request) (*http.Response, error) {
		review := strings.HasSuffix(req.URL.Path, "/tokenreviews")
		reads := req.Method == http.MethodGet || review || req.URL.Query().Has("dryRun")
		counts := !strings.HasSuffix(req.URL.Path, "/events") && strings.Contains(req.URL.Path, l.counted)
		if !reads && l.writes >= 0 && (dead.Load() || counts && made.Add(1) > l.writes) {
			dead.Store(true)
			l.die()
			return nil, errors.New("this process is dead")
		}
		r.requested.Add(1)
		res, err := next.RoundTrip(req)
		if err == nil && res.StatusCode == http.StatusForbidden && !terminating(res) {
			r.refused.Add(1)
			fmt.Println("refused by deployment/rbac:", req.Method, req.URL.Path)
		}
		if err == nil && !reads && res.StatusCode < http.StatusMultipleChoices {
			r.written.Add(req.ContentLength)
		}
		if err == nil && review {
			r.reviewed.Add(1)
		}
		return res, err
	})
}

// terminating reports whether a refusal is not for want of a right, but because the namespace is being deleted.
func terminating(res *http.Response) bool {
	body, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	res.Body = io.NopCloser(bytes.NewReader(body))
	return err == nil && bytes.Contains(body, []byte("because it is being terminated"))
}

// relations returns the relations of the namespace by provider.
func (w *controllerWorld) relations() map[string]v1alpha1.Relation {
	var list v1alpha1.RelationList
	require.NoError(w.t, w.admin.List(w.ctx, &list, client.InNamespace(w.namespace)))
	all := map[string]v1alpha1.Relation{}
	for _, r := range list.Items {
		all[r.Spec.Provider.Application] = r
	}
	return all
}

func (w *controllerWorld) app(name string) v1alpha1.RelatedApplication {
	var a v1alpha1.RelatedApplication
	_ = w.admin.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, &a)
	return a
}

// bag returns the databag of an application.
func (w *controllerWorld) bag(name string) v1alpha1.Databag {
	var list v1alpha1.DatabagList
	require.NoError(w.t, w.admin.List(w.ctx, &list, client.InNamespace(w.namespace)))
	for _, b := range list.Items {
		if b.Spec.Application == name {
			return b
		}
	}
	return v1alpha1.Databag{}
}

// reason is the reason of a condition; with "!" before it where it is not True.
func reason(conditions []metav1.Condition, kind string) string {
	for _, c := range conditions {
		if c.Type == kind && c.Status == metav1.ConditionTrue {
			return c.Reason
		} else if c.Type == kind {
			return "!" + c.Reason
		}
	}
	return ""
}

// eventually waits for a condition, and on failure shows the namespace.
func (w *controllerWorld) eventually(what string, holds func() bool) {
	w.t.Helper()
	defer func() {
		if w.t.Failed() {
			w.t.Log(w.cluster.Kubectl(w.t, "-n", w.namespace, "get", "relations,rapp,databags,deployments,services", "-o", "wide"))
		}
	}()
	controlplane.Eventually(w.t, holds, soon, what)
}

// recovers waits until the cluster's own controllers work again, after a test has taken the API server or etcd from them:
// they wait for a lease, and restart. Other tests share the cluster.
func (w *controllerWorld) recovers() {
	w.t.Helper()
	again := w.consumer("again", nil)
	controlplane.Eventually(w.t, func() bool {
		err := w.admin.Create(w.ctx, again)
		return err == nil || apierrors.IsAlreadyExists(err)
	}, long, "the API server is back")
	controlplane.Eventually(w.t, func() bool {
		var pods corev1.PodList
		err := w.admin.List(w.ctx, &pods, client.InNamespace(w.namespace), client.MatchingLabels{"app": "again"})
		return err == nil && len(pods.Items) > 0
	}, long, "the controller manager is back")
}

func (w *controllerWorld) becomes(provider, ready string) {
	w.t.Helper()
	w.eventually(provider+" "+ready, func() bool {
		r, ok := w.relations()[provider]
		return ok && works(reason(r.Status.Conditions, "Ready")) == ready
	})
}

// works returns Complete for a relation whose data is complete: pods that would have an
// agent run in few of these tests.
func works(reason string) string {
	if reason == "NoUnit" {
		return "Complete"
	}
	return reason
}

// versions are the resourceVersions of all that Orcon wrote.
func (w *controllerWorld) versions() map[string]string {
	all := map[string]string{}
	for _, list := range []client.ObjectList{&v1alpha1.RelationList{}, &v1alpha1.RelatedApplicationList{}, &v1alpha1.DatabagList{}, &appsv1.DeploymentList{}} {
		require.NoError(w.t, w.admin.List(w.ctx, list, client.InNamespace(w.namespace)))
		text, err := json.Marshal(list)
		require.NoError(w.t, err)
		var items struct {
			Items []metav1.PartialObjectMetadata
		}
		require.NoError(w.t, json.Unmarshal(text, &items))
		for _, o := range items.Items {
			all[fmt.Sprintf("%T/%s", list, o.Name)] = o.ResourceVersion
		}
	}
	return all
}

// marker makes something that the controller must answer, and waits until it
// has: what it did not do until then, it does not do.
func (w *controllerWorld) marker(name string) {
	w.t.Helper()
	home := w.namespace
	defer func() { w.namespace = home }()
	w.namespace = w.newNamespace(map[string]string{application.LabelOptIn: application.OptedIn})
	w.create(w.provider(name, "marker.tengu.io"))
	w.eventually("the controller answers", func() bool { return w.bag(name).State.Version != "" })
}

// roundTripJSON reads into one thing what another writes.
func roundTripJSON(from, into any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}
