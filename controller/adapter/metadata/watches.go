package metadata

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Watches are the watches of all deployments.
type Watches struct {
	connect func(account string) (metadata.Interface, error)
	mapper  meta.RESTMapper
	changed func(owner string)
	// retry is how long a forbidden watch is left alone.
	retry time.Duration
	now   func() time.Time

	mu      sync.Mutex
	stopped bool
	running map[target]*watch
	// wanted are the targets of each deployment.
	wanted map[string][]target
}

// target names the objects of one watch: those of one kind in one namespace, seen by one account.
// The deployments of the account share it.
type target struct {
	account  string
	resource schema.GroupVersionResource
	// namespace is empty for what belongs to the whole cluster.
	namespace string
}

// permission returns what the account needs for the watch.
func (t target) permission() bundle.Permission {
	return bundle.Permission{Verb: "watch", Group: t.resource.Group, Resource: t.resource.Resource, Namespace: t.namespace}
}

// New returns an empty set. The configuration's own user acts for the accounts. changed is called
// with a deployment (namespace/name) when one of its objects has changed or is gone, and when it
// becomes known whether a watch of it works. A forbidden watch is tried again after retry.
func New(config *rest.Config, mapper meta.RESTMapper, retry time.Duration, changed func(owner string)) *Watches {
	connect := func(account string) (metadata.Interface, error) {
		config := rest.CopyConfig(config)
		config.Impersonate = rest.ImpersonationConfig{UserName: account}
		config.QPS = -1 // the API server's own fairness limits us
		return metadata.NewForConfig(config)
	}
	return &Watches{connect: connect, mapper: mapper, changed: changed, retry: retry, now: time.Now,
		running: map[target]*watch{}, wanted: map[string][]target{}}
}

// Watch watches objects of a deployment by an account from now on, and no others of it. It
// returns the permissions that the account lacks for that, as far as they are known.
func (w *Watches) Watch(account, owner string, objects []bundle.ID) []bundle.Permission {
	wanted := w.targets(account, objects)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return nil
	}
	for _, t := range w.wanted[owner] {
		if !slices.Contains(wanted, t) {
			w.leave(t, owner)
		}
	}
	w.wanted[owner] = wanted
	var lacks []bundle.Permission
	for _, t := range wanted {
		if w.join(t, owner) {
			lacks = append(lacks, t.permission())
		}
	}
	return lacks
}

// Forget ends the watches that only this deployment needs.
func (w *Watches) Forget(owner string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, t := range w.wanted[owner] {
		w.leave(t, owner)
	}
	delete(w.wanted, owner)
}

// Start waits until its context ends, and ends all watches then.
func (w *Watches) Start(ctx context.Context) error {
	<-ctx.Done()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	for _, one := range w.running {
		one.end()
	}
	return nil
}

// targets returns what is watched for objects: Secrets are not, nor kinds that the cluster does
// not have.
func (w *Watches) targets(account string, objects []bundle.ID) []target {
	var all []target
	known := map[target]bool{}
	for _, id := range objects {
		if id.Kind == "Secret" && id.Group == "" {
			continue
		}
		mapping, err := w.mapper.RESTMapping(schema.GroupKind{Group: id.Group, Kind: id.Kind})
		if err != nil {
			continue // the look that follows reports it
		}
		t := target{account: account, resource: mapping.Resource}
		if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
			t.namespace = id.Namespace
		}
		if !known[t] {
			known[t] = true
			all = append(all, t)
		}
	}
	return all
}

// join adds a deployment to a watch, which it starts where that is due, and reports whether the
// watch is forbidden.
func (w *Watches) join(t target, owner string) (forbidden bool) {
	one := w.running[t]
	if one == nil {
		one = &watch{target: t, set: w, owners: map[string]bool{}}
		w.running[t] = one
	}
	one.owners[owner] = true
	if one.end == nil || one.idle && w.now().Sub(one.refused) >= w.retry {
		one.start()
	}
	return !one.refused.IsZero()
}

// leave takes a deployment from a watch, which ends with the last one.
func (w *Watches) leave(t target, owner string) {
	one := w.running[t]
	if delete(one.owners, owner); len(one.owners) == 0 {
		one.end()
		delete(w.running, t)
	}
}

// report calls changed for those of some deployments that use a watch.
func (w *Watches) report(one *watch, owners ...string) {
	w.mu.Lock()
	owners = slices.DeleteFunc(owners, func(owner string) bool { return !one.owners[owner] })
	w.mu.Unlock()
	slices.Sort(owners)
	for _, owner := range slices.Compact(owners) {
		w.changed(owner)
	}
}
