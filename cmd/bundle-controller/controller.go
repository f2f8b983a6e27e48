package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/cluster"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/networks"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/metadata"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	fleetv1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/fleet/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/bundledeployment"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/content"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/fleet"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/supply"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/destination"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/integrationset"
)

// name is that of the Deployment and of the Lease.
const name = "bundle-controller"

// mirrors are hosts to ask before a registry, by the registry's host.
type mirrors map[string][]string

// String is for the flag package.
func (m mirrors) String() string { return "" }

// Set reads registry=mirror.
func (m mirrors) Set(text string) error {
	registry, mirror, found := strings.Cut(text, "=")
	if !found || registry == "" || mirror == "" {
		return fmt.Errorf("%q is not registry=mirror", text)
	}
	m[registry] = append(m[registry], mirror)
	return nil
}

func newManager(ctx context.Context, cfg *rest.Config, s settings) (manager.Manager, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme), fleetv1alpha1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("cannot register kinds: %w", err)
	}
	m, err := ctrl.NewManager(cfg, manager.Options{
		Scheme: scheme,
		Cache: cache.Options{
			DefaultTransform: cache.TransformStripManagedFields(),
			ByObject:         map[client.Object]cache.ByObject{&corev1.Node{}: {Transform: networks.Strip}},
		},
		// Revisions list what they do, and are read once each; namespaces hardly ever.
		Client:                        client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&v1alpha1.BundleRevision{}, &corev1.Namespace{}}}},
		Metrics:                       server.Options{BindAddress: fmt.Sprintf(":%d", s.healthPort), ExtraHandlers: health()},
		LeaderElection:                s.leaderElect,
		LeaderElectionID:              name,
		LeaderElectionNamespace:       s.namespace,
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return nil, fmt.Errorf("cannot reach the cluster: %w", err)
	}
	world, err := cluster.As(cfg, m.GetRESTMapper(), s.namespace+"/"+name)
	if err != nil {
		return nil, err
	}
	identity, err := world.Identity(ctx)
	if err != nil {
		return nil, err
	}
	contents, err := supply.Isolate(s.cache)
	if err != nil {
		return nil, err
	}
	self, account, err := self(ctx, m.GetAPIReader(), s)
	if err != nil {
		return nil, err
	}
	contents.Mirrors, contents.Destinations = s.mirrors, destinations(m.GetClient(), s.allowed)
	r := &bundledeployment.Reconciler{
		Client: m.GetClient(), Reader: m.GetAPIReader(), Events: m.GetEventRecorder(name),
		Connect:  bundledeployment.Impersonate(cfg, m.GetRESTMapper()),
		Contents: contents, Places: supply.Places(),
		Identity: identity, Account: account, Now: time.Now, Resync: s.resync,
	}
	watches := metadata.New(cfg, m.GetRESTMapper(), s.resync, r.Changed)
	r.Watches = watches
	connect := inputs(cfg, m.GetRESTMapper())
	sets := s.sets(m, contents, self)
	sets.Connect, sets.Running = connect, running(cfg, m.GetRESTMapper())
	return m, errors.Join(m.Add(watches), r.Setup(m), sets.Setup(m), addWebhook(m, s.webhookPort, connect))
}

// sets returns what keeps IntegrationSets, without a way to the accounts of sets.
func (s settings) sets(m manager.Manager, contents *content.Isolated, self integrationset.Self) *fleet.Reconciler {
	return &fleet.Reconciler{
		Client: m.GetClient(), Reader: m.GetAPIReader(), Events: m.GetEventRecorder(name),
		Contents: contents, Places: supply.Places(), Now: time.Now, Resync: s.dataInterval,
		Settings: fleet.Settings{
			ServerURL: s.serverURL, Environment: s.environment, Upstream: s.upstream, Image: s.image, ImageRefs: s.imageTagFromRef,
			Process: s.process, DryRun: s.dryRun, Self: self,
		},
	}
}

// running returns what finds workloads by a variable of their containers, as an account.
func running(cfg *rest.Config, mapper meta.RESTMapper) func(
	ctx context.Context, account, namespace, variable, value string) (map[string]string, error) {
	return func(ctx context.Context, account, namespace, variable, value string) (map[string]string, error) {
		as := rest.CopyConfig(cfg)
		as.Impersonate = rest.ImpersonationConfig{UserName: account}
		c, err := client.New(as, client.Options{Scheme: clientscheme.Scheme, Mapper: mapper})
		if err != nil {
			return nil, fmt.Errorf("cannot reach the cluster: %w", err)
		}
		return cluster.Running(ctx, c, namespace, variable, value)
	}
}

// inputs returns how the accounts of IntegrationSets reach what their data come from.
func inputs(cfg *rest.Config, mapper meta.RESTMapper) func(account, owner string) (fleet.Inputs, error) {
	return func(account, owner string) (fleet.Inputs, error) {
		as := rest.CopyConfig(cfg)
		as.Impersonate = rest.ImpersonationConfig{UserName: account}
		return cluster.As(as, mapper, owner)
	}
}

// destinations returns the rules about servers that sources name.
func destinations(reader client.Reader, allowed destination.Allowed) func(context.Context) (destination.Rules, error) {
	return func(ctx context.Context) (destination.Rules, error) {
		all, err := networks.Read(ctx, reader)
		return destination.Rules{Cluster: all, Allowed: allowed}, err
	}
}

// health reports that the process lives. Readiness is the same: webhooks are answered from the start.
func health() map[string]http.Handler {
	handlers := map[string]http.Handler{}
	for _, path := range []string{"/healthz", "/readyz"} {
		handlers[path] = http.StripPrefix(path, &healthz.Handler{})
	}
	return handlers
}
