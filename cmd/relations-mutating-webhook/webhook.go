package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/golang/glog"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/certificate"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/installation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/interfaces"
	bundlev1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
	"gitlab.ilabt.imec.be/tengu/orcon/webhook/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/webhook/declaration"
	"gitlab.ilabt.imec.be/tengu/orcon/webhook/pod"
)

// service is the name of the webhook's Service and Deployment.
const service = "relations-mutating-webhook"

// shutdown is how long answers in flight may take when the process ends.
const shutdown = 20 * time.Second

// process is the wired process.
type process struct {
	options
	manager   manager.Manager
	clientset kubernetes.Interface
	settings  *pod.Source
	source    certificate.Source
	synced    func() bool
	drain     drain
	// interfaces are those that ship with Orcon and those that the cluster has.
	interfaces *interfaces.Catalogue
}

func newWebhook(ctx context.Context, cfg *rest.Config, o options) (*process, error) {
	clientset, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("cannot make a client: %w", err)
	}
	present, err := pod.NewSource(o.namespace, o.configFile, os.Getenv("ORCON_AGENT_IMAGE"))
	if err != nil {
		return nil, err
	}
	interfaces, err := interfaces.New(nil)
	if err != nil {
		return nil, err
	}
	present.Learn(func(s *injection.Settings) { s.Fields = interfaces.Fields })
	scheme := runtime.NewScheme()
	if err := errors.Join(clientscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme), bundlev1alpha1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("cannot register kinds: %w", err)
	}
	p := &process{options: o, clientset: clientset, settings: present, interfaces: interfaces}
	if err := errors.Join(p.learnVersion(clientset.Discovery()), p.chooseCertificate()); err != nil {
		return nil, err
	}
	grace := shutdown
	p.manager, err = ctrl.NewManager(cfg, manager.Options{
		Scheme: scheme,
		Cache: cache.Options{DefaultTransform: cache.TransformStripManagedFields(),
			ByObject: map[client.Object]cache.ByObject{&corev1.Service{}: {Transform: strip}}},
		Metrics:                 server.Options{BindAddress: "0"}, // served with health
		GracefulShutdownTimeout: &grace,
		WebhookServer: webhook.NewServer(webhook.Options{
			Port: o.port, TLSOpts: []func(*tls.Config){certificate.Configure(p.source)},
		}),
	})
	if err != nil {
		return nil, fmt.Errorf("cannot reach the cluster: %w", err)
	}
	return p, errors.Join(p.manager.Add(p.settings), p.manager.Add(p.source), p.addHandlers(ctx), p.addInterfaces(),
		p.addTrust(), p.addHealth())
}

// learnVersion finds out whether this cluster can be served at all. On one that cannot, every admission gets a
// warning, and nothing is injected.
func (p *process) learnVersion(d discovery.ServerVersionInterface) error {
	err := installation.CheckVersion(d)
	if !errors.Is(err, installation.ErrTooOld) {
		return err
	}
	glog.Errorf("nothing will be injected: %v", err)
	p.settings.Learn(func(s *injection.Settings) { s.Unsupported = err.Error() })
	return nil
}

func (p *process) chooseCertificate() (err error) {
	if p.certFile != "" {
		p.source, err = certificate.NewFiles(p.certFile, p.keyFile)
		return err
	}
	p.source = certificate.NewServed(p.clientset, p.namespace)
	return nil
}

func (p *process) addHandlers(ctx context.Context) error {
	outcomes := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "orcon_injections_total", Help: "Pods that were admitted, by what was done with them.",
	}, []string{"outcome"})
	if err := metrics.Registry.Register(outcomes); err != nil {
		return fmt.Errorf("cannot count injections: %w", err)
	}
	index := &declaration.Index{}
	if err := p.follow(ctx, index); err != nil {
		return err
	}
	hooks := p.manager.GetWebhookServer()
	for path, handler := range map[string]http.Handler{
		"/mutate": &pod.Handler{
			Settings: p.settings.Settings,
			Observe:  func(outcome string) { outcomes.WithLabelValues(outcome).Inc() },
		},
		"/declare": &declaration.Handler{Settings: p.settings.Settings, Services: index, Schemas: p.interfaces},
		"/outside": &declaration.Outside{Settings: p.settings.Settings},
		"/bundle":  &bundle.Handler{},
	} {
		hooks.Register(path, p.drain.handler(handler))
	}
	return nil
}

// follow fills what is known of Services.
func (p *process) follow(ctx context.Context, index *declaration.Index) error {
	informer, err := p.manager.GetCache().GetInformer(ctx, &corev1.Service{})
	if err != nil {
		return fmt.Errorf("cannot watch services: %w", err)
	}
	see := func(object any) {
		if s, ok := object.(*corev1.Service); ok {
			index.See(s.Namespace, injection.Service{Name: s.Name, Selector: s.Spec.Selector, Annotations: s.Annotations})
			p.seeController(s)
		}
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    see,
		UpdateFunc: func(_, now any) { see(now) },
		DeleteFunc: func(object any) {
			if key, err := toolscache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil {
				namespace, name, _ := toolscache.SplitMetaNamespaceKey(key)
				index.Forget(namespace, name)
			}
		},
	})
	if err != nil {
		return fmt.Errorf("cannot watch services: %w", err)
	}
	p.synced = registration.HasSynced
	return nil
}

// addInterfaces follows the published interfaces. No admission waits for it: the controller reports violations that
// it finds too late.
func (p *process) addInterfaces() error {
	return p.manager.Add(manager.RunnableFunc(func(ctx context.Context) error {
		if err := p.interfaces.Follow(ctx, p.manager.GetCache()); err != nil && ctx.Err() == nil {
			return err
		}
		return nil
	}))
}

// seeController learns the address for pods that use their node's names.
func (p *process) seeController(s *corev1.Service) {
	if s.Namespace == p.namespace && s.Name == "relations-controller" && s.Spec.ClusterIP != corev1.ClusterIPNone {
		p.settings.Learn(func(settings *injection.Settings) { settings.ControllerIP = s.Spec.ClusterIP })
	}
}

// addTrust keeps the bundle that injected agents begin with.
func (p *process) addTrust() error {
	live := certificate.NewLiveTrust(p.clientset, p.namespace)
	live.Notify(func() {
		bundle := string(live.Bundle())
		p.settings.Learn(func(s *injection.Settings) { s.Trust = bundle })
	})
	return p.manager.Add(live)
}

// addHealth serves health and metrics. A replica is ready when it knows the
// Services and the API server trusts its certificate (INJECTION.md I10).
func (p *process) addHealth() error {
	trusted := healthz.Ping
	if p.webhookConfiguration != "" {
		live := certificate.NewLiveWebhook(p.clientset, p.webhookConfiguration)
		if err := p.manager.Add(live); err != nil {
			return err
		}
		trusted = certificate.Verified(p.source, live, certificate.ServiceNames(service, p.namespace)[0], time.Now)
	}
	synced := func(*http.Request) error {
		if !p.synced() {
			return errors.New("the informers have not synced yet")
		}
		return nil
	}
	mux := http.NewServeMux()
	mux.Handle("/healthz", http.StripPrefix("/healthz", &healthz.Handler{}))
	mux.Handle("/readyz", http.StripPrefix("/readyz", &healthz.Handler{Checks: map[string]healthz.Checker{
		"listening": p.manager.GetWebhookServer().StartedChecker(), "synced": synced, "trusted": trusted,
	}}))
	mux.Handle("/metrics", promhttp.HandlerFor(metrics.Registry, promhttp.HandlerOpts{}))
	health := &http.Server{Addr: fmt.Sprintf(":%d", p.healthPort), Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	return p.manager.Add(&manager.Server{Name: "health", Server: health})
}

// strip keeps of a Service what is read here.
func strip(object any) (any, error) {
	s, ok := object.(*corev1.Service)
	if !ok {
		return object, nil
	}
	kept := &corev1.Service{Spec: corev1.ServiceSpec{Selector: s.Spec.Selector, ClusterIP: s.Spec.ClusterIP}}
	kept.Name, kept.Namespace, kept.UID, kept.ResourceVersion = s.Name, s.Namespace, s.UID, s.ResourceVersion
	for key, value := range s.Annotations {
		if strings.HasPrefix(key, "tengu.io/") {
			if kept.Annotations == nil {
				kept.Annotations = map[string]string{}
			}
			kept.Annotations[key] = value
		}
	}
	return kept, nil
}
