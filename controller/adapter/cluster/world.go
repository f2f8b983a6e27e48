package cluster

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/health"
)

// Manager is the field manager by which the API server knows what bundles set.
const Manager = "orcon"

// atOnce is how many requests are under way at a time: enough to hide the way there and
// back, too few to keep an API server from others.
const atOnce = 16

// World is a cluster as one deployment sees it.
type World struct {
	// Definitions judges upgrades of definitions in a preflight. Without it the API server's
	// own answer is all.
	Definitions Definitions
	// Probes judges kinds by the deployment's rules, Library by those that come with Orcon; nil for none.
	Probes, Library Probes
	// ReadOnly is for an account that may not write: objects are compared field by field where a
	// dry run is forbidden, and what may not be read is taken to be as wanted. Withheld reports both.
	ReadOnly bool
	// Ignores lists fields that others are to set: they are compared and written as they are.
	Ignores []bundle.Ignore

	// Secretive reports that objects are made with values of Secrets: refusals quote none of any kind.
	Secretive bool

	client   client.Client
	kinds    kinds
	withheld withheld
	// address is that of the API server.
	address, owner string
}

// Definitions judges upgrades of definitions.
type Definitions interface {
	// Findings returns why a definition that is live may not become another (BUNDLES.md 11).
	Findings(live, wanted bundle.Object) ([]bundle.Finding, error)
}

// Probes judges how objects are.
type Probes interface {
	// Probe returns what is found of an object; known is false where it cannot tell.
	Probe(o map[string]any) (opinion health.Opinion, known bool)
}

// New returns the cluster of a configuration, for the deployment of that name
// (namespace/name). It asks the API server for its kinds, so an error may be that it
// does not answer.
func New(config *rest.Config, owner string) (*World, error) { return As(config, nil, owner) }

// As is New for one of many deployments: mapper knows the kinds already, and the configuration may name an account to
// impersonate.
func As(config *rest.Config, mapper meta.RESTMapper, owner string) (*World, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // the API server's own fairness limits us
	c, err := client.New(config, client.Options{Scheme: clientscheme.Scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("cannot reach the cluster: %w", err)
	}
	k, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("cannot reach the cluster: %w", err)
	}
	return &World{client: c, kinds: k, address: config.Host, owner: owner}, nil
}

// Identity returns what tells this cluster from others: the UID of its namespace
// kube-system, or for an account that may not read that the API server's address.
func (w *World) Identity(ctx context.Context) (string, error) {
	o := blank(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
	switch err := w.client.Get(ctx, client.ObjectKey{Name: "kube-system"}, o); {
	case apierrors.IsForbidden(err):
		return w.address, nil
	case err != nil:
		return "", fmt.Errorf("cannot identify the cluster: %w", err)
	}
	return string(o.GetUID()), nil
}

// Namespaced reports whether the cluster keeps the objects of a kind in namespaces. known
// is false where it does not have the kind.
func (w *World) Namespaced(group, kind string) (namespaced, known bool, err error) {
	mapping, err := w.client.RESTMapper().RESTMapping(schema.GroupKind{Group: group, Kind: kind})
	switch {
	case meta.IsNoMatchError(err):
		return false, false, nil
	case err != nil:
		return false, false, fmt.Errorf("cannot look up kind %s: %w", kind, err)
	}
	return mapping.Scope.Name() == meta.RESTScopeNameNamespace, true, nil
}

func blank(kind schema.GroupVersionKind) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	return o
}

// live reads an object from the API server. It returns nil where there is none, and
// noAPI where there cannot be one.
func (w *World) live(ctx context.Context, id bundle.ID, version string) (o *unstructured.Unstructured, noAPI bool, err error) {
	kind := schema.GroupVersionKind{Group: id.Group, Version: version, Kind: id.Kind}
	if version == "" {
		mapping, err := w.client.RESTMapper().RESTMapping(kind.GroupKind())
		if meta.IsNoMatchError(err) {
			return nil, true, nil
		} else if err != nil {
			return nil, false, fmt.Errorf("cannot look up kind %s: %w", id.Kind, err)
		}
		kind = mapping.GroupVersionKind
	}
	o = blank(kind)
	err = w.client.Get(ctx, client.ObjectKey{Namespace: id.Namespace, Name: id.Name}, o)
	switch {
	case meta.IsNoMatchError(err):
		return nil, true, nil
	case apierrors.IsNotFound(err):
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("cannot read %s: %w", id, err)
	}
	return o, false, nil
}

// each calls f for all, some at a time, and returns the first error; then it calls no more.
func each[T any](ctx context.Context, all []T, f func(context.Context, T) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group sync.WaitGroup
	places := make(chan struct{}, atOnce)
	for _, one := range all {
		places <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		group.Go(func() {
			defer func() { <-places }()
			if err := f(ctx, one); err != nil {
				cancel(err)
			}
		})
	}
	group.Wait()
	return context.Cause(ctx)
}
