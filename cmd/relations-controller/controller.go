package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/certificate"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/commits"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/counts"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/election"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/identity"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/installation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/interfaces"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/meter"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/scope"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/secrets"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/views"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/serve"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/serve/limit"
)

// service is the name of the controller's Service, Deployment and Lease.
const service = "relations-controller"

// webhook is the name of the webhook's Service.
const webhook = "relations-mutating-webhook"

// controller is the wired process.
type controller struct {
	settings
	cfg       *rest.Config
	manager   manager.Manager
	clientset kubernetes.Interface
	source    certificate.Source
	// interfaces are those that ship with Orcon and those that the cluster has.
	interfaces *interfaces.Catalogue
	// contents keeps what secrets hold, and vault what is known of them.
	contents secrets.Contents
	vault    *secrets.Vault
	// watches has something whenever a watch has begun.
	watches <-chan struct{}
	// kept bounds the caches.
	kept *scope.Scope
}

func newController(ctx context.Context, cfg *rest.Config, s settings) (*controller, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("cannot register kinds: %w", err)
	}
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(meter.Wrap)
	clientset, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("cannot make a client: %w", err)
	}
	// A cluster that is too old is refused before it can be half served.
	if err := installation.CheckVersion(clientset.Discovery()); err != nil {
		return nil, err
	}
	kept, err := scope.New(cfg)
	if err != nil {
		return nil, err
	}
	watches := make(chan struct{}, 1)
	m, err := newManager(ctx, cfg, scheme, kept, watches)
	if err != nil {
		return nil, err
	}
	interfaces, err := interfaces.New(m.GetCache())
	if err != nil {
		return nil, err
	}
	interfaces.Writer = m.GetClient()
	c := &controller{settings: s, cfg: cfg, manager: m, clientset: clientset, interfaces: interfaces, watches: watches, kept: kept}
	c.contents = secrets.Contents{ // read from the API server itself
		Reader: m.GetAPIReader(), Writer: m.GetClient(), Now: time.Now, Turns: &object.Turns{},
	}
	if err := object.Index(ctx, m.GetFieldIndexer()); err != nil {
		return nil, err
	}
	for _, add := range []func(context.Context) error{c.addSecrets, c.addCertificate, c.addServers} {
		if err := add(ctx); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// newManager returns a manager whose caches keep what goes with its definition, and are bounded. It notes in watches that
// a watch has begun.
func newManager(
	ctx context.Context, cfg *rest.Config, scheme *runtime.Scheme, kept *scope.Scope, watches chan<- struct{},
) (manager.Manager, error) {
	definitions, err := object.NewDefinitions(cfg)
	if err != nil {
		return nil, err
	}
	note := func() {
		select {
		case watches <- struct{}{}:
		default: // it is noted already
		}
	}
	cached := kept.CacheOptions(definitions.CacheOptions())
	if cached.HTTPClient, err = object.InformerClient(ctx, cfg, note); err != nil {
		return nil, err
	}
	m, err := ctrl.NewManager(cfg, manager.Options{
		Scheme:  scheme,
		Cache:   cached,
		Metrics: server.Options{BindAddress: "0"}, // served with health
	})
	if err != nil {
		return nil, fmt.Errorf("cannot reach the cluster: %w", err)
	}
	return m, errors.Join(m.Add(definitions), kept.Follow(ctx, m.GetCache()))
}

// addSecrets has each replica mark the content of secrets whose deletion it sees.
func (c *controller) addSecrets(ctx context.Context) error {
	c.vault = &secrets.Vault{Contents: c.contents, Cached: c.manager.GetCache()}
	return c.vault.Follow(ctx, c.manager.GetCache())
}

// addCertificate gives each replica its certificate.
func (c *controller) addCertificate(context.Context) (err error) {
	if c.certFile != "" {
		c.source, err = certificate.NewFiles(c.certFile, c.keyFile)
	} else {
		c.source, err = certificate.NewSelfManaged(certificate.SelfManagedOptions{
			Client: c.clientset, Namespace: c.namespace, DNSNames: certificate.ServiceNames(service, c.namespace),
		})
	}
	if err != nil {
		return err
	}
	return c.manager.Add(c.source)
}

// rotation returns the options of the rotator. It signs for the webhook whose configuration it keeps.
func (c *controller) rotation(namespaces certificate.Namespaces) certificate.RotatorOptions {
	o := certificate.RotatorOptions{
		Client: c.clientset, Namespace: c.namespace, WebhookConfiguration: c.webhookConfiguration, Namespaces: namespaces,
	}
	if c.webhookConfiguration != "" {
		o.WebhookNames = certificate.ServiceNames(webhook, c.namespace)
	}
	return o
}

func (c *controller) addServers(ctx context.Context) error {
	live := certificate.NewLiveTrust(c.clientset, c.namespace)
	leases := &object.Leases{}
	bags := &commits.Commits{
		Reader: c.contents.Reader, Writer: c.contents.Writer, Now: time.Now, Turns: c.contents.Turns,
		Interfaces: c.interfaces, Contents: &c.contents, Succeeded: commits.NewSucceeded(), Leases: leases,
	}
	statuses := &commits.Statuses{
		Reader: c.contents.Reader, Writer: c.contents.Writer, Now: time.Now, Turns: c.contents.Turns,
		Events: c.manager.GetEventRecorder(service), Leases: leases,
	}
	api := &serve.Server{
		Identities: identity.NewReviewer(c.manager.GetCache(), c.manager.GetClient(), c.clientset.Discovery().RESTClient()),
		Store:      bags, Statuses: statuses, Now: time.Now,
		Secrets: &secrets.Secrets{Contents: c.contents, Deliveries: commits.Pending{Cached: c.manager.GetCache(), Commits: bags}},
	}
	shown := &views.Views{Reader: c.manager.GetCache(), Changed: api.ApplicationChanged, PodChanged: api.PodChanged}
	store := views.StoreRevisions{Reader: c.manager.GetAPIReader()}
	api.World, api.Live = shown, store
	counter := counts.Counter{Cached: c.manager.GetCache(), Live: c.manager.GetAPIReader(), Writer: c.manager.GetClient()}
	api.Raise = counter.Raise
	api.Budgets = limit.NewBudgets(shown, statuses, time.Now)
	bags.Afford = api.Budgets.Afford
	synced := make(chan struct{})
	follow := everywhere(func(ctx context.Context) error {
		if err := errors.Join(shown.Follow(ctx, c.manager.GetCache()), counter.Follow(ctx, c.manager.GetCache())); err != nil {
			return err
		}
		close(synced)
		return shown.Guard(ctx, store, c.watches)
	})
	apiServer := api.HTTP(fmt.Sprintf(":%d", c.port), &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.source.GetCertificate})
	serveAPI := everywhere(func(ctx context.Context) error {
		select {
		case <-synced:
		case <-ctx.Done():
			return nil
		}
		return listenUntil(ctx, apiServer, func() error { return apiServer.ListenAndServeTLS("", "") })
	})
	ready := func(req *http.Request) error {
		select {
		case <-synced:
			return certificate.Verified(c.source, live, certificate.ServiceNames(service, c.namespace)[0], time.Now)(req)
		default:
			return errors.New("the informers have not synced yet")
		}
	}
	return errors.Join(c.manager.Add(live), c.manager.Add(follow), c.manager.Add(serveAPI), c.addHealth(ready))
}

// addHealth serves health and metrics, and the identity of this replica for as long as it leads.
func (c *controller) addHealth(ready healthz.Checker) error {
	name, err := c.identity()
	if err != nil {
		return err
	}
	mux := healthHandler(ready)
	mux.Handle(election.Path, election.Handler(name))
	health := &http.Server{Addr: fmt.Sprintf(":%d", c.healthPort), Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	led := make(chan struct{})
	lead := everywhere(func(ctx context.Context) error {
		defer close(led)
		return c.candidate(name).Start(ctx)
	})
	serveHealth := everywhere(func(ctx context.Context) error { return listenUntil(after(ctx, led), health, health.ListenAndServe) })
	return errors.Join(c.manager.Add(lead), c.manager.Add(serveHealth))
}

// everywhere is a runnable of every replica, not of the leader alone.
type everywhere func(ctx context.Context) error

// Start runs it.
func (e everywhere) Start(ctx context.Context) error { return e(ctx) }

// NeedLeaderElection is false.
func (e everywhere) NeedLeaderElection() bool { return false }

func healthHandler(ready healthz.Checker) *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle("/healthz", http.StripPrefix("/healthz", &healthz.Handler{}))
	mux.Handle("/readyz", http.StripPrefix("/readyz", &healthz.Handler{Checks: map[string]healthz.Checker{"serving": ready}}))
	mux.Handle("/metrics", metricsHandler())
	return mux
}

// listenUntil serves until ctx ends, and then lets streams go: agents find
// another replica.
func listenUntil(ctx context.Context, s *http.Server, listen func() error) error {
	failed := make(chan error, 1)
	go func() { failed <- listen() }()
	select {
	case err := <-failed:
		return fmt.Errorf("cannot serve on %s: %w", s.Addr, err)
	case <-ctx.Done():
		return s.Close()
	}
}
