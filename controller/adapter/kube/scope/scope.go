package scope

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// syncedEvery is the pause between two looks at informers that have not synced.
const syncedEvery = 20 * time.Millisecond

// Scope has the participating namespaces: they opted in, or hold an object of Orcon or a pod with an agent. Of kinds
// that any namespace has, the caches keep the objects of these only (TRUST.md U7).
type Scope struct {
	// live reads the objects of a namespace that joins.
	live client.Reader
	// bounds are the kinds that any namespace has.
	bounds map[string]bool
	// followed is closed when the sources are known.
	followed chan struct{}
	sources  []toolscache.ResourceEventHandlerRegistration

	mu      sync.Mutex
	optedIn map[string]bool
	// held counts the objects of Orcon in each namespace, and injected has the names of the pods with an agent.
	held     map[string]int
	injected map[string]map[string]bool
	// changed receives something after a namespace has begun or ceased to participate, one channel for each kind.
	changed []chan struct{}
	filters map[string]*filter
	// joins counts the namespaces that joined the cache of a kind.
	joins atomic.Uint64
}

// New returns the scope of the caches of a cluster.
func New(cfg *rest.Config) (*Scope, error) {
	unlimited := rest.CopyConfig(cfg) // the API server shares its time fairly, and one list of each kind runs at a time
	unlimited.QPS = -1
	live, err := client.New(unlimited, client.Options{})
	if err != nil {
		return nil, fmt.Errorf("cannot make a client: %w", err)
	}
	return newScope(live), nil
}

func newScope(live client.Reader) *Scope {
	s := &Scope{
		live: live, bounds: map[string]bool{}, followed: make(chan struct{}), optedIn: map[string]bool{}, held: map[string]int{},
		injected: map[string]map[string]bool{}, filters: map[string]*filter{},
	}
	for _, kind := range bounded() {
		s.bounds[kindOf(kind)] = true
	}
	return s
}

// CacheOptions returns those of caches within the scope. Their other informers are as the given options make them. They
// fill once the scope follows them.
func (s *Scope) CacheOptions(o cache.Options) cache.Options {
	others := o.NewInformer
	if others == nil {
		others = toolscache.NewSharedIndexInformer
	}
	o.NewInformer = func(
		from toolscache.ListerWatcher, of runtime.Object, resync time.Duration, indexers toolscache.Indexers,
	) toolscache.SharedIndexInformer {
		if f := s.bound(from, of); f != nil {
			return f.informer(resync, indexers)
		}
		return others(from, of, resync, indexers)
	}
	return o
}

// Follow follows the informers that show which namespaces participate. It comes once, before the caches start: those of the
// other kinds are empty until then.
func (s *Scope) Follow(ctx context.Context, informers cache.Cache) error {
	for _, kind := range append([]client.Object{&corev1.Namespace{}}, holding()...) {
		informer, err := informers.GetInformer(ctx, kind)
		if err != nil {
			return fmt.Errorf("cannot watch %T: %w", kind, err)
		}
		if err := s.follow(informer); err != nil {
			return err
		}
	}
	close(s.followed)
	return nil
}

// follow follows the informer of Namespaces or of a kind of Orcon.
func (s *Scope) follow(informer object.NamespaceInformer) error {
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { s.see(o, 1) },
		UpdateFunc: func(_, o any) { s.see(o, 0) },
		DeleteFunc: func(o any) { s.see(o, -1) },
	})
	if err != nil {
		return fmt.Errorf("cannot follow what participates: %w", err)
	}
	s.sources = append(s.sources, registration)
	return nil
}

// see notes an object that was added, changed or deleted.
func (s *Scope) see(event any, more int) {
	if deleted, is := event.(toolscache.DeletedFinalStateUnknown); is {
		event = deleted.Obj
	}
	o, is := event.(client.Object)
	if !is {
		return
	}
	if ns, is := o.(*corev1.Namespace); is {
		// A namespace that is being deleted participates to its end: its relations end in order.
		s.set(ns.Name, func() {
			mark(s.optedIn, ns.Name, more >= 0 && ns.Labels[application.LabelOptIn] == application.OptedIn)
		})
		return
	}
	s.set(o.GetNamespace(), func() {
		if s.held[o.GetNamespace()] += more; s.held[o.GetNamespace()] <= 0 {
			delete(s.held, o.GetNamespace())
		}
	})
}

// inject notes whether a pod has an agent.
func (s *Scope) inject(namespace, pod string, has bool) {
	s.set(namespace, func() {
		switch {
		case has && s.injected[namespace] == nil:
			s.injected[namespace] = map[string]bool{pod: true}
		case has:
			s.injected[namespace][pod] = true
		default:
			if delete(s.injected[namespace], pod); len(s.injected[namespace]) == 0 {
				delete(s.injected, namespace)
			}
		}
	})
}

// injectAll replaces the pods that have an agent.
func (s *Scope) injectAll(pods map[string]map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.injected = pods
	s.notify()
}

// mark sets or deletes a name.
func mark(names map[string]bool, name string, is bool) {
	if is {
		names[name] = true
	} else {
		delete(names, name)
	}
}

// set changes what is known of a namespace, and notifies the caches if it begins or ceases to participate by that.
func (s *Scope) set(namespace string, change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.participates(namespace)
	change()
	if s.participates(namespace) != was {
		s.notify()
	}
}

func (s *Scope) participates(namespace string) bool {
	return s.optedIn[namespace] || s.held[namespace] > 0 || len(s.injected[namespace]) > 0
}

func (s *Scope) notify() {
	for _, changed := range s.changed {
		select {
		case changed <- struct{}{}:
		default: // it is notified already
		}
	}
}

// names waits until the participating namespaces are known, and returns them.
func (s *Scope) names(ctx context.Context) (map[string]bool, error) {
	synced := func(context.Context) (bool, error) {
		select {
		case <-s.followed:
			return !slices.ContainsFunc(s.sources, func(source toolscache.ResourceEventHandlerRegistration) bool { return !source.HasSynced() }), nil
		default:
			return false, nil
		}
	}
	if err := wait.PollUntilContextCancel(ctx, syncedEvery, true, synced); err != nil {
		return nil, fmt.Errorf("cannot tell which namespaces participate: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all := maps.Clone(s.optedIn)
	for name := range s.held {
		all[name] = true
	}
	for name := range s.injected {
		all[name] = true
	}
	return all, nil
}
