package certificates

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/certificate"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// certificateWorld is a corner of a cluster with Orcon's namespace,
// two that opted in, and one in which admission is asked.
type certificateWorld struct {
	t      testing.TB
	ctx    context.Context //nolint:containedctx // the life of one test
	stop   func()
	group  *sync.WaitGroup
	config *rest.Config
	admin  kubernetes.Interface
	prefix string
}

func newCertificateWorld(t testing.TB) *certificateWorld {
	t.Helper()
	return newCertificateWorldIn(t, controlplane.Shared(t))
}

// newCertificateWorldIn makes a world in a cluster. A rotator publishes to all namespaces of its cluster that have opted in.
func newCertificateWorldIn(t testing.TB, cluster *controlplane.Cluster) *certificateWorld {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &certificateWorld{
		t: t, ctx: ctx, group: &sync.WaitGroup{},
		config: cluster.Config(t), admin: cluster.Client(t),
		prefix: cluster.NewNamespace(t, "certificate-") + "-",
	}
	w.stop = func() { cancel(); w.group.Wait() }
	t.Cleanup(w.stop)
	w.namespace("system", false)
	w.namespace("opted-1", true)
	w.namespace("opted-2", true)
	w.namespace("admitted", false)
	w.roles()
	return w
}

func (w *certificateWorld) name(short string) string { return w.prefix + short }

// run runs f until the world is stopped.
func (w *certificateWorld) run(f func(ctx context.Context)) { w.group.Go(func() { f(w.ctx) }) }

// namespace makes a namespace and returns its short name.
func (w *certificateWorld) namespace(short string, optedIn bool) string {
	_, err := w.admin.CoreV1().Namespaces().Apply(w.ctx, w.namespaceLabels(short, optedIn), forcedByTest())
	require.NoError(w.t, err)
	return short
}

func (w *certificateWorld) namespaceLabels(short string, optedIn bool) *applycore.NamespaceApplyConfiguration {
	labels := map[string]string{"world": w.prefix + "ns", "short": short}
	if optedIn {
		labels[application.LabelOptIn] = application.OptedIn
	}
	return applycore.Namespace(w.name(short)).WithLabels(labels)
}

func forcedByTest() metav1.ApplyOptions {
	return metav1.ApplyOptions{FieldManager: "test", Force: true}
}

// roles gives the two service accounts what the package's documentation says
// they need, and nothing else.
func (w *certificateWorld) roles() {
	read := []string{"get", "list", "watch"}
	cluster := map[string][]rbacv1.PolicyRule{
		"controller": {
			{APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{"orcon-trust"}, Verbs: []string{"get", "list", "watch", "create", "patch"}},
			{APIGroups: []string{"admissionregistration.k8s.io"}, Resources: []string{"mutatingwebhookconfigurations"}, ResourceNames: []string{w.name("webhook")}, Verbs: []string{"get", "list", "watch", "patch"}},
			{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: read},
		},
		"webhook": {
			{APIGroups: []string{"admissionregistration.k8s.io"}, Resources: []string{"mutatingwebhookconfigurations"}, ResourceNames: []string{w.name("webhook")}, Verbs: read},
		},
	}
	local := map[string][]rbacv1.PolicyRule{
		"controller": {
			{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"orcon-ca", "orcon-webhook-tls"}, Verbs: []string{"get", "list", "watch", "create", "patch", "update"}},
		},
		"webhook": {
			{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"orcon-webhook-tls"}, Verbs: read},
		},
	}
	for account, rules := range cluster {
		meta := metav1.ObjectMeta{Name: w.name(account), Namespace: w.name("system")}
		subjects := []rbacv1.Subject{{Kind: "ServiceAccount", Name: account, Namespace: meta.Namespace}}
		global := metav1.ObjectMeta{Name: meta.Name}
		_, err := w.admin.RbacV1().ClusterRoles().Create(w.ctx, &rbacv1.ClusterRole{ObjectMeta: global, Rules: rules}, metav1.CreateOptions{})
		require.NoError(w.t, err)
		_, err = w.admin.RbacV1().ClusterRoleBindings().Create(w.ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: global, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
		}, metav1.CreateOptions{})
		require.NoError(w.t, err)
		_, err = w.admin.RbacV1().Roles(meta.Namespace).Create(w.ctx, &rbacv1.Role{ObjectMeta: meta, Rules: local[account]}, metav1.CreateOptions{})
		require.NoError(w.t, err)
		_, err = w.admin.RbacV1().RoleBindings(meta.Namespace).Create(w.ctx, &rbacv1.RoleBinding{
			ObjectMeta: meta, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
		}, metav1.CreateOptions{})
		require.NoError(w.t, err)
	}
}

// as returns a client configuration of a service account.
func (w *certificateWorld) as(account string) *rest.Config {
	config := rest.CopyConfig(w.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + w.name("system") + ":" + account}
	return config
}

func (w *certificateWorld) client(config *rest.Config) kubernetes.Interface {
	client, err := kubernetes.NewForConfig(config)
	require.NoError(w.t, err)
	return client
}

// rotator runs a rotator until ctx ends; done is closed when it has ended.
func (w *certificateWorld) rotator(ctx context.Context, config *rest.Config) (done chan struct{}) {
	client := w.client(config)
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTweakListOptions(
		func(o *metav1.ListOptions) { o.LabelSelector = "world=" + w.prefix + "ns" }))
	namespaces, err := object.NewOptedIn(factory.Core().V1().Namespaces().Informer())
	require.NoError(w.t, err)
	rotator, err := certificate.NewRotator(certificate.RotatorOptions{
		Client: client, Namespace: w.name("system"), WebhookConfiguration: w.name("webhook"),
		WebhookNames: []string{"localhost"}, Namespaces: namespaces, Periods: shortPeriods(),
	})
	require.NoError(w.t, err)
	done = make(chan struct{})
	w.group.Go(func() {
		defer close(done)
		factory.StartWithContext(ctx)
		if err := rotator.Start(ctx); err != nil {
			w.t.Errorf("the rotator ended: %v", err)
		}
		factory.Shutdown()
	})
	return done
}

// rotatorsThatDie keeps as many rotators working side by side as asked. The
// first life of each ends after one write, the next after two, and so on to
// four and round again.
func (w *certificateWorld) rotatorsThatDie(sideBySide int) {
	for i := range sideBySide {
		w.run(func(ctx context.Context) {
			for life := i; ctx.Err() == nil; life++ {
				mortal, die := context.WithCancel(ctx)
				<-w.rotator(mortal, dying(w.as("controller"), 1+life%4, die))
				die()
			}
		})
	}
}

// dying lets that many writes through, then none, as if the process had been
// killed between two of them.
func dying(config *rest.Config, writes int, die func()) *rest.Config {
	left := &atomic.Int64{}
	left.Store(int64(writes))
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return controlplane.RoundTrip(func(r *http.Request) (*http.Response, error) {
			if r.Method != http.MethodGet && left.Add(-1) < 0 {
				die()
				return nil, errDead
			}
			return next.RoundTrip(r)
		})
	})
	return config
}

// errDead is what a killed process would not even see.
var errDead = errors.New("this process is dead")

// replica is a webhook server.
type replica struct {
	name     string
	address  string
	verified func(*http.Request) error
	lock     sync.Mutex
	shown    map[string]bool
}

// issuers returns the authorities whose leaves were shown.
func (r *replica) issuers() map[string]bool {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.shown
}

// replica starts a server that shows the certificate of a source and allows everything. It closes each connection,
// so that each admission shakes hands.
func (w *certificateWorld) replica(name string, source certificate.Source) *replica {
	live := certificate.NewLiveWebhook(w.client(w.as("webhook")), w.name("webhook"))
	r := &replica{name: name, shown: map[string]bool{}, verified: certificate.Verified(source, live, "localhost", nil)}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(w.t, err)
	r.address = listener.Addr().String()
	config := &tls.Config{}
	certificate.Configure(source)(config)
	config.GetCertificate = r.noting(config.GetCertificate)
	server := &http.Server{
		Handler: http.HandlerFunc(allow), TLSConfig: config, ReadHeaderTimeout: time.Minute,
		ErrorLog: log.New(io.Discard, "", 0),
	}
	server.SetKeepAlivesEnabled(false)
	// Not HTTP/2: a client whose connection ends too early tries again after
	// seconds, trusting what it trusted when it began. Real propagation is
	// longer than the longest admission; that of this test is not.
	server.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){}
	w.run(func(ctx context.Context) { require.NoError(w.t, source.Start(ctx)) })
	w.run(func(ctx context.Context) { require.NoError(w.t, live.Start(ctx)) })
	w.run(func(context.Context) { _ = server.ServeTLS(listener, "", "") })
	w.run(func(ctx context.Context) { <-ctx.Done(); _ = server.Close() })
	return r
}

// replicas starts a server that serves what the rotator signs, and one that signs for itself.
func (w *certificateWorld) replicas() []*replica {
	w.t.Helper()
	served := certificate.NewServed(w.client(w.as("webhook")), w.name("system"))
	signs, err := certificate.NewSelfManaged(certificate.SelfManagedOptions{
		Client: w.client(w.as("controller")), Namespace: w.name("system"), DNSNames: []string{"localhost"}, Periods: shortPeriods(),
	})
	require.NoError(w.t, err)
	return []*replica{w.replica("webhook", served), w.replica("controller", signs)}
}

// noting notes which authority signed what is shown.
func (r *replica) noting(next func(*tls.ClientHelloInfo) (*tls.Certificate, error)) func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		pair, err := next(hello)
		if err == nil {
			r.lock.Lock()
			defer r.lock.Unlock()
			r.shown[pair.Leaf.Issuer.CommonName] = true
		}
		return pair, err
	}
}

// allow answers an AdmissionReview.
func allow(w http.ResponseWriter, r *http.Request) {
	review := admissionv1.AdmissionReview{}
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
		http.Error(w, "not a review", http.StatusBadRequest)
		return
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	review.Request = nil
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review) //nolint:errchkjson // a client that went away
}

// webhook has the API server ask each replica about each ConfigMap.
func (w *certificateWorld) webhook(replicas []*replica) {
	configuration := &registrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: w.name("webhook")}}
	for _, r := range replicas {
		configuration.Webhooks = append(configuration.Webhooks, registrationv1.MutatingWebhook{
			Name:                    r.name + ".test.tengu.io",
			ClientConfig:            registrationv1.WebhookClientConfig{URL: new("https://localhost:" + port(r.address))},
			SideEffects:             new(registrationv1.SideEffectClassNone),
			FailurePolicy:           new(registrationv1.Fail),
			AdmissionReviewVersions: []string{"v1"},
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{"world": w.prefix + "ns", "short": "admitted"}},
			Rules: []registrationv1.RuleWithOperations{{
				Operations: []registrationv1.OperationType{registrationv1.Create},
				Rule:       registrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}},
		})
	}
	configurations := w.admin.AdmissionregistrationV1().MutatingWebhookConfigurations()
	_, err := configurations.Create(w.ctx, configuration, metav1.CreateOptions{})
	require.NoError(w.t, err)
	w.t.Cleanup(func() {
		_ = configurations.Delete(context.WithoutCancel(w.ctx), configuration.Name, metav1.DeleteOptions{})
	})
}

func port(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return port
}

// admissions creates objects side by side, without keeping them.
func (w *certificateWorld) admissions(workers int) *tally {
	out := &tally{}
	maps := w.admin.CoreV1().ConfigMaps(w.name("admitted"))
	for range workers {
		w.run(func(ctx context.Context) {
			every(ctx, 240*time.Millisecond, func() {
				object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "x-"}}
				_, err := maps.Create(ctx, object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
				if ctx.Err() == nil {
					out.add(err)
				}
			})
		})
	}
	return out
}

// every calls f at an interval until ctx ends.
func every(ctx context.Context, interval time.Duration, f func()) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			f()
		}
	}
}

// tally counts attempts and keeps the first failures.
type tally struct {
	lock   sync.Mutex
	tried  int
	failed []string
}

func (c *tally) add(err error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.tried++
	if err != nil && !errors.Is(err, context.Canceled) {
		c.failed = append(c.failed, time.Now().Format(time.TimeOnly)+" "+err.Error())
	}
}

func (c *tally) count() int {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.tried
}

func (c *tally) failures() []string {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.failed[:min(len(c.failed), 5)]
}

// eventually waits for a condition and says why it did not come.
func (w *certificateWorld) eventually(what string, condition func() error) {
	w.t.Helper()
	var last error
	controlplane.Eventually(w.t, func() bool { last = condition(); return last == nil }, time.Minute, what)
	require.NoError(w.t, last, what)
}

// onChange calls f with each object that comes or changes.
func onChange(f func(obj any)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{AddFunc: f, UpdateFunc: func(_, obj any) { f(obj) }}
}
