package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/golang/glog"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/sealed"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/certificate"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/aggregation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/installation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/jobs"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kubejob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/approval"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/collection"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/node"
)

// name is that of the Deployment, of the Service and of the Lease.
const name = "job-controller"

// controller is the wired process.
type controller struct {
	settings

	manager   manager.Manager
	source    certificate.Source
	trust     *certificate.Live
	blobs     *sealed.Store
	recipient *recipient
	close     func() error
	// executor carries out attempts, and renewals are the signs of life of their claimants.
	executor *kubejob.Jobs
	renewals signs
	nodes    *node.Server
}

func newController(ctx context.Context, cfg *rest.Config, s settings) (*controller, error) {
	clientset, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("cannot make a client: %w", err)
	}
	if err := installation.CheckVersion(clientset.Discovery()); err != nil {
		return nil, err
	}
	c := &controller{settings: s, trust: certificate.NewLiveTrust(clientset, s.namespace)}
	if c.source, err = s.certificate(clientset); err != nil {
		return nil, err
	}
	if c.manager, err = c.newManager(cfg); err != nil {
		return nil, err
	}
	if err := jobs.Index(ctx, c.manager.GetFieldIndexer()); err != nil {
		return nil, err
	}
	c.blobs, c.close, err = s.open(ctx, surroundings{
		reader: c.manager.GetAPIReader(), writer: c.manager.GetClient(), namespace: s.namespace, folder: s.received, exempt: c.exempt,
	})
	if err != nil {
		return nil, err
	}
	c.executor = &kubejob.Jobs{
		Reader: c.manager.GetAPIReader(), Writer: c.manager.GetClient(), Trust: c.trust.Bundle,
		Runner: kubejob.Runner{Image: s.runnerImage, PullPolicy: corev1.PullIfNotPresent, Address: s.address},
	}
	c.recipient = &recipient{store: c.blobs}
	c.nodes = c.newNodes(c.recipient)
	c.renewals = signs{jobs.Renewals{Live: c.manager.GetAPIReader(), Writer: c.manager.GetClient(), Namespace: s.namespace}}
	err = errors.Join(c.addReconciler(), c.addApprovals(), c.addBuilder(), c.addNodes(ctx),
		c.manager.Add(c.source), c.manager.Add(c.trust), c.manager.Add(c.server()),
		c.manager.Add(manager.RunnableFunc(c.shrink)),
		c.manager.Add(every(sweepEvery, func(ctx context.Context) error { return c.renewals.Sweep(ctx, time.Now()) })),
		c.manager.Add(every(collectEvery, c.collector().Collect)),
		c.manager.Add(every(refreshEvery, c.executor.Refresh)),
		c.manager.Add(every(registerEvery, aggregation.Registration{Client: c.manager.GetClient(), Bundle: c.trust.Bundle}.Refresh)))
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// addReconciler adds what keeps JobWorkspaces and JobRuns.
func (c *controller) addReconciler() error {
	begun := time.Now()
	carrying := &node.Dispatcher{
		Cluster: c.executor, Nodes: c.nodes.Nodes, Offers: c.nodes.Offers, Clock: time.Now,
		Secrets: newSecrets(c.manager, c.nodes),
	}
	r := &job.Reconciler{
		Ready: c.ready, Most: c.most, Variables: c.variables, ClaimWait: job.DefaultClaimWait,
		Client: c.manager.GetClient(), Reader: c.manager.GetAPIReader(), Executor: carrying, Store: c.blobs, Signs: c.renewals,
		Events: c.manager.GetEventRecorder(name), Now: time.Now, Clock: func() time.Duration { return time.Since(begun) }, Home: c.namespace,
	}
	return r.SetupWithManager(c.manager)
}

// shrink gives back to the system what the first lists of all objects took: several times what the cache holds of them.
func (c *controller) shrink(ctx context.Context) error {
	if c.manager.GetCache().WaitForCacheSync(ctx) {
		debug.FreeOSMemory()
	}
	return nil
}

// addApprovals adds what has approved plans applied.
func (c *controller) addApprovals() error {
	r := &approval.Reconciler{Client: c.manager.GetClient(), Reader: c.manager.GetAPIReader(), Now: time.Now}
	return r.SetupWithManager(c.manager)
}

// ready returns why states cannot be stored.
func (c *controller) ready(ctx context.Context) error {
	if c.encryption == encryptionDisabled {
		return nil
	}
	return c.blobs.Check(ctx)
}

// exempt reports that the states of a Workspace are stored in plain, by its own choice. What the cache does not have is not.
func (c *controller) exempt(ctx context.Context, uid string) bool {
	spec, err := jobs.Objects{Cache: c.manager.GetCache()}.Spec(ctx, uid)
	return err == nil && spec.State != nil && spec.State.Encryption == encryptionDisabled
}

// collector returns the collector of unused blobs.
func (c *controller) collector() *collection.Collector {
	return &collection.Collector{Reader: c.manager.GetAPIReader(), Store: c.blobs, Events: c.manager.GetEventRecorder(name), Now: time.Now}
}

// signs has the renewals of Runs in the words of the reconciler.
type signs struct{ jobs.Renewals }

// Last implements job.Signs.
func (s signs) Last(ctx context.Context, run string) (job.Sign, error) {
	last, err := s.Renewals.Last(ctx, run)
	return job.Sign{Fence: last.Fence, Number: last.Number, Delay: last.Delay}, err
}

// certificate returns what gives the jobs API its certificate.
func (s *settings) certificate(clientset kubernetes.Interface) (certificate.Source, error) {
	if s.certFile != "" {
		return certificate.NewFiles(s.certFile, s.keyFile)
	}
	return certificate.NewSelfManaged(certificate.SelfManagedOptions{
		Client: clientset, Namespace: s.namespace, DNSNames: certificate.ServiceNames(name, s.namespace),
	})
}

// newManager returns a manager whose cache has Orcon's own kinds alone.
func (c *controller) newManager(cfg *rest.Config) (manager.Manager, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("cannot register kinds: %w", err)
	}
	offers, err := offered(c.namespace)
	if err != nil {
		return nil, err
	}
	uncached := []client.Object{&corev1.Pod{}, &corev1.Secret{}, &corev1.Event{}, &corev1.Namespace{}, &batchv1.Job{}, &coordinationv1.Lease{}}
	m, err := ctrl.NewManager(cfg, manager.Options{
		Scheme:                        scheme,
		Cache:                         cache.Options{DefaultTransform: job.Cached, ByObject: offers},
		Client:                        client.Options{Cache: &client.CacheOptions{DisableFor: uncached}},
		Metrics:                       server.Options{BindAddress: fmt.Sprintf(":%d", c.healthPort), ExtraHandlers: c.health()},
		LeaderElection:                c.leaderElect,
		LeaderElectionID:              name,
		LeaderElectionNamespace:       c.namespace,
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return nil, fmt.Errorf("cannot reach the cluster: %w", err)
	}
	return m, nil
}

// health reports that the process lives, and that its certificate is one that keepers trust.
func (c *controller) health() map[string]http.Handler {
	verified := certificate.Verified(c.source, c.trust, certificate.ServiceNames(name, c.namespace)[0], time.Now)
	return map[string]http.Handler{
		"/healthz": http.StripPrefix("/healthz", &healthz.Handler{}),
		"/readyz":  http.StripPrefix("/readyz", &healthz.Handler{Checks: map[string]healthz.Checker{"certificate": verified}}),
	}
}

const (
	// sweepEvery is how often old renewals are deleted.
	sweepEvery = time.Hour
	// collectEvery is how often the store is gone through: nothing goes that is younger than a day.
	collectEvery = 6 * time.Hour
	// refreshEvery is how often pods of runs get other certificates to trust: a new authority signs ten minutes after it was
	// published, and the kubelet takes two to show a change.
	refreshEvery = 2 * time.Minute
	// registerEvery is how often the APIService of the people's API is looked at, which is new without certificates to trust.
	registerEvery = 10 * time.Second
)

// every does something again and again on the replica that leads.
func every(period time.Duration, do func(ctx context.Context) error) manager.Runnable {
	return manager.RunnableFunc(func(ctx context.Context) error {
		wait.UntilWithContext(ctx, func(ctx context.Context) {
			if err := do(ctx); err != nil {
				glog.Warning(err)
			}
		}, period)
		return nil
	})
}

// server serves the jobs API on each replica.
func (c *controller) server() manager.Runnable {
	return &api{http.Server{
		Addr: fmt.Sprintf(":%d", c.port), Handler: c.handler(),
		ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: maxHead, ConnState: limited(maxConnections),
		// The API server has a certificate, which aggregation.FrontProxy verifies; keepers have none.
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS13, GetCertificate: c.source.GetCertificate, ClientAuth: tls.RequestClientCert},
	}}
}
