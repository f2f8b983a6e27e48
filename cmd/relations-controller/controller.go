package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
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
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/identity"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/installation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/interfaces"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/secrets"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/settle"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/views"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/schema"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/secret"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/serve"
)

// service is the name of the controller's Service, Deployment and Lease.
const service = "relations-controller"

// controller is the wired process.
type controller struct {
	settings
	manager   manager.Manager
	clientset kubernetes.Interface
	source    certificate.Source
	// interfaces are those that ship with Orcon and those that the cluster has.
	interfaces *interfaces.Catalogue
	// contents keeps what secrets hold.
	contents secrets.Contents
}

func newController(ctx context.Context, cfg *rest.Config, s settings) (*controller, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("cannot register kinds: %w", err)
	}
	clientset, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("cannot make a client: %w", err)
	}
	// A cluster that is too old is refused before it can be half served.
	if err := installation.CheckVersion(clientset.Discovery()); err != nil {
		return nil, err
	}
	m, err := ctrl.NewManager(cfg, manager.Options{
		Scheme:                        scheme,
		Cache:                         object.CacheOptions(),
		Metrics:                       server.Options{BindAddress: "0"}, // served with health
		LeaderElection:                s.leaderElect,
		LeaderElectionID:              service,
		LeaderElectionNamespace:       s.namespace,
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return nil, fmt.Errorf("cannot reach the cluster: %w", err)
	}
	interfaces, err := interfaces.New(m.GetCache())
	if err != nil {
		return nil, err
	}
	interfaces.Writer = m.GetClient()
	c := &controller{settings: s, manager: m, clientset: clientset, interfaces: interfaces}
	c.contents = secrets.Contents{ // read from the API server itself
		Reader: m.GetAPIReader(), Writer: m.GetClient(), Now: time.Now, Turns: &object.Turns{},
	}
	for _, add := range []func(context.Context) error{c.addRelations, c.addSecrets, c.addCertificates, c.addServers} {
		if err := add(ctx); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *controller) addRelations(ctx context.Context) error {
	alone := c.contents // its writes take no turns with those of agents
	alone.Turns = nil
	world := &settle.Settler{
		Reader: c.manager.GetCache(), Live: c.manager.GetAPIReader(), Writer: c.manager.GetClient(),
		Events: c.manager.GetEventRecorder(service), Now: time.Now, Interfaces: c.interfaces,
		Account: c.namespace + ":" + service,
		Outboxes: &commits.Commits{
			Reader: alone.Reader, Writer: alone.Writer, Now: alone.Now, Contents: &alone,
		},
	}
	if err := object.Index(ctx, c.manager.GetFieldIndexer()); err != nil {
		return err
	}
	if err := world.Follow(ctx, c.manager.GetCache()); err != nil {
		return err
	}
	return errors.Join((&relation.Reconciler{World: world}).Setup(c.manager), (&schema.Reconciler{World: c.interfaces}).Setup(c.manager))
}

func (c *controller) addSecrets(ctx context.Context) error {
	vault := &secrets.Vault{Contents: c.contents, Cached: c.manager.GetCache()}
	if err := vault.Follow(ctx, c.manager.GetCache()); err != nil {
		return err
	}
	return c.manager.Add(&secret.Sweeper{World: vault, Tick: time.NewTicker(secret.Every).C})
}

func (c *controller) addCertificates(ctx context.Context) error {
	informer, err := c.manager.GetCache().GetInformer(ctx, &corev1.Namespace{})
	if err != nil {
		return fmt.Errorf("cannot watch namespaces: %w", err)
	}
	namespaces, err := certificate.NewNamespaces(informer)
	if err != nil {
		return err
	}
	var publisher manager.Runnable
	if c.certFile != "" {
		c.source, err = certificate.NewFiles(c.certFile, c.keyFile)
		if err != nil {
			return err
		}
		publisher, err = certificate.NewTrustFile(certificate.TrustFileOptions{
			Client: c.clientset, Namespace: c.namespace, Namespaces: namespaces, File: c.trustFile,
		})
	} else {
		c.source, err = certificate.NewSelfManaged(certificate.SelfManagedOptions{
			Client: c.clientset, Namespace: c.namespace, DNSNames: certificate.ServiceNames(service, c.namespace),
		})
		if err != nil {
			return err
		}
		publisher, err = certificate.NewRotator(certificate.RotatorOptions{
			Client: c.clientset, Namespace: c.namespace, WebhookConfiguration: c.webhookConfiguration, Namespaces: namespaces,
		})
	}
	if err != nil {
		return err
	}
	return errors.Join(c.manager.Add(c.source), c.manager.Add(publisher))
}

func (c *controller) addServers(ctx context.Context) error {
	live := certificate.NewLiveTrust(c.clientset, c.namespace)
	store := &commits.Commits{
		Reader: c.contents.Reader, Writer: c.contents.Writer, Now: time.Now, Turns: c.contents.Turns,
		Interfaces: c.interfaces, Contents: &c.contents,
	}
	statuses := &commits.Statuses{
		Reader: c.contents.Reader, Writer: c.contents.Writer, Now: time.Now, Turns: c.contents.Turns,
		Events: c.manager.GetEventRecorder(service),
	}
	api := &serve.Server{
		Identities: identity.Reviewer{Reader: c.manager.GetCache(), Writer: c.manager.GetClient()},
		Store:      store, Secrets: &secrets.Secrets{Contents: c.contents}, Statuses: statuses, Now: time.Now,
	}
	views := &views.Views{Reader: c.manager.GetCache(), Changed: api.ApplicationChanged, PodChanged: api.PodChanged}
	api.World = views
	synced := make(chan struct{})
	follow := everywhere(func(ctx context.Context) error {
		if err := views.Follow(ctx, c.manager.GetCache()); err != nil {
			return err
		}
		close(synced)
		<-ctx.Done()
		return nil
	})
	apiServer := newAPIServer(fmt.Sprintf(":%d", c.port), api.Handler(), c.source)
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
	health := &http.Server{Addr: fmt.Sprintf(":%d", c.healthPort), Handler: healthHandler(ready), ReadHeaderTimeout: 5 * time.Second}
	serveHealth := everywhere(func(ctx context.Context) error { return listenUntil(ctx, health, health.ListenAndServe) })
	return errors.Join(c.manager.Add(live), c.manager.Add(follow), c.manager.Add(serveAPI), c.manager.Add(serveHealth))
}

// newAPIServer returns a server for many agents, each with a connection of its
// own that is silent most of the time. An agent that is gone without a word is
// found by a ping; what has no stream is closed; and what an agent may say is
// small, so that few bytes are buffered for each.
func newAPIServer(address string, handler http.Handler, source certificate.Source) *http.Server {
	return &http.Server{
		Addr: address, Handler: handler,
		ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: source.GetCertificate},
		HTTP2: &http.HTTP2Config{
			SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second, WriteByteTimeout: 15 * time.Second,
			MaxConcurrentStreams:          100,
			MaxReceiveBufferPerConnection: 128 << 10, MaxReceiveBufferPerStream: 64 << 10,
		},
	}
}

// everywhere is a runnable of every replica, not of the leader alone.
type everywhere func(ctx context.Context) error

// Start runs it.
func (e everywhere) Start(ctx context.Context) error { return e(ctx) }

// NeedLeaderElection is false.
func (e everywhere) NeedLeaderElection() bool { return false }

func healthHandler(ready healthz.Checker) http.Handler {
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
