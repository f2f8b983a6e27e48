package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/certificate"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/commits"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/copies"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/election"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/settle"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/schema"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/secret"
)

// identity returns the identity of this process among the candidates.
func (c *controller) identity() (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("cannot find the name of this host: %w", err)
	}
	address := ""
	if ip := os.Getenv("POD_IP"); ip != "" {
		address = net.JoinHostPort(ip, strconv.Itoa(c.healthPort))
	}
	return election.Identity(host, rand.Text(), address), nil
}

// candidate runs the loops of the leader in the terms of this replica, or always if it is the only one.
func (c *controller) candidate(identity string) manager.Runnable {
	if !c.leaderElect {
		return everywhere(c.lead)
	}
	return &election.Leader{
		Lease: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: service}, Client: c.clientset.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
		},
		Name: service, Loop: c.lead, Periods: election.DefaultPeriods(),
	}
}

// lead runs the loops of the leader until ctx ends.
func (c *controller) lead(ctx context.Context) (err error) {
	lent := &election.Lent{Cache: c.manager.GetCache()}
	defer func() { err = errors.Join(err, lent.Return()) }()
	m, err := ctrl.NewManager(c.cfg, manager.Options{
		Scheme:         c.manager.GetScheme(),
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return c.manager.GetRESTMapper(), nil },
		NewCache:       func(*rest.Config, cache.Options) (cache.Cache, error) { return lent, nil },
		Metrics:        server.Options{BindAddress: "0"},
		Controller:     config.Controller{SkipNameValidation: new(true)}, // a later term has the same names
	})
	if err != nil {
		return fmt.Errorf("cannot begin to lead: %w", err)
	}
	for _, add := range []func(context.Context, manager.Manager) error{c.addRelations, c.addSweeper, c.addPublisher} {
		if err := add(ctx, m); err != nil {
			return err
		}
	}
	return m.Start(ctx)
}

func (c *controller) addRelations(ctx context.Context, m manager.Manager) error {
	alone := c.contents // its writes take no turns with those of agents
	alone.Turns = nil
	world := &settle.Settler{
		Reader: c.kept.Reader(m.GetCache()), Live: m.GetAPIReader(), Writer: m.GetClient(),
		Events: c.manager.GetEventRecorder(service), Now: time.Now, Interfaces: c.interfaces,
		Account: c.namespace + ":" + service,
		Outboxes: &commits.Commits{
			Reader: alone.Reader, Writer: alone.Writer, Now: alone.Now, Contents: &alone,
		},
	}
	if err := world.Follow(ctx, c.manager.GetCache()); err != nil {
		return err
	}
	relations := &relation.Reconciler{World: copies.NewKeeper(world, m.GetAPIReader(), m.GetClient())}
	return errors.Join(relations.Setup(m), (&schema.Reconciler{World: c.interfaces}).Setup(m))
}

func (c *controller) addSweeper(_ context.Context, m manager.Manager) error {
	return m.Add(&secret.Sweeper{World: c.vault, Tick: time.NewTicker(secret.Every).C})
}

// addPublisher publishes the authorities that agents and the API server must trust.
func (c *controller) addPublisher(ctx context.Context, m manager.Manager) error {
	informer, err := m.GetCache().GetInformer(ctx, &corev1.Namespace{})
	if err != nil {
		return fmt.Errorf("cannot watch namespaces: %w", err)
	}
	namespaces, err := object.NewOptedIn(informer)
	if err != nil {
		return err
	}
	var publisher manager.Runnable
	if c.certFile != "" {
		publisher, err = certificate.NewTrustFile(certificate.TrustFileOptions{
			Client: c.clientset, Namespace: c.namespace, Namespaces: namespaces, File: c.trustFile,
		})
	} else {
		publisher, err = certificate.NewRotator(c.rotation(namespaces))
	}
	if err != nil {
		return err
	}
	return m.Add(publisher)
}

// after returns a context that ends once ctx has and done is closed.
func after(ctx context.Context, done <-chan struct{}) context.Context {
	later, end := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		<-done
		end()
	})
	return later
}
