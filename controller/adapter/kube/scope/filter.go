package scope

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
)

// pageSize is how many objects of a list are in memory at once, beside those that are kept.
const pageSize = 500

// filter lets through the objects of one kind that are in participating namespaces. One list or watch of it runs at a time.
//
// A namespace joins after a list of its own, and leaves by deletions: a list of all namespaces lets none join but the
// first. So the store has all objects of a namespace from its join until it leaves.
type filter struct {
	scope *Scope
	from  toolscache.ListerWatcherWithContext
	// of is an empty object of the kind, and within lists those of a namespace.
	of     client.Object
	within func(ctx context.Context, namespace string) ([]runtime.Object, string, error)
	// store is that of the informer, and synced reports whether it had a first list.
	store   toolscache.Indexer
	synced  func() bool
	changed chan struct{}

	mu sync.Mutex
	// in are the namespaces that have joined.
	in map[string]joined
	// listed is set when a first list is complete.
	listed bool
	// ended is closed when the last watch has ended.
	ended chan struct{}
	// fresh are the pods with agents that the list under way has shown.
	fresh map[string]map[string]bool
}

// joined is a namespace whose objects are let through.
type joined struct {
	ticket uint64
	// at is the resourceVersion of the list with which it joined; empty for a list of all namespaces. Earlier events are
	// superseded.
	at string
}

// bound returns a filter of a kind that any namespace has; nil for others.
func (s *Scope) bound(from toolscache.ListerWatcher, of runtime.Object) *filter {
	kind, is := of.DeepCopyObject().(client.Object)
	if !is || !s.bounds[kindOf(of)] {
		return nil
	}
	f := &filter{
		scope: s, from: toolscache.ToListerWatcherWithContext(from), of: kind, within: s.listLive(kind), in: map[string]joined{},
		changed: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	close(f.ended)
	return f
}

// register adds the filter to its scope, which reads the store from now on.
func (f *filter) register(store toolscache.Indexer, synced func() bool) {
	f.store, f.synced = store, synced
	f.scope.mu.Lock()
	defer f.scope.mu.Unlock()
	f.scope.filters[kindOf(f.of)] = f
	f.scope.changed = append(f.scope.changed, f.changed)
}

// informer returns an informer of the objects that the filter lets through.
func (f *filter) informer(resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	informer := toolscache.NewSharedIndexInformer(
		&toolscache.ListWatch{ListWithContextFunc: f.list, WatchFuncWithContext: f.watch}, f.of, resync, indexers)
	f.register(informer.GetIndexer(), informer.HasSynced)
	return informer
}

// has returns the ticket of a namespace if the store has all its objects.
func (f *filter) has(namespace string) (ticket uint64, has bool) {
	if f == nil || !f.synced() {
		return 0, false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	is, has := f.in[namespace]
	return is.ticket, has
}

// list lists everything page by page and returns what is in participating namespaces.
func (f *filter) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if err := f.begin(ctx); err != nil {
		return nil, err
	}
	// A list of the most recent state has pages, and is not older than the joins.
	options.ResourceVersion, options.ResourceVersionMatch, options.Limit, options.Continue = "", "", pageSize, ""
	var kept []runtime.Object
	for {
		page, err := f.from.ListWithContext(ctx, options)
		if err != nil {
			return nil, err //nolint:wrapcheck // the reflector looks at it
		}
		if kept, options.Continue, err = f.keep(kept, page); err != nil {
			return nil, fmt.Errorf("cannot read a list of %T: %w", f.of, err)
		}
		if options.Continue == "" {
			f.end()
			return page, meta.SetList(page, kept)
		}
	}
}

// keep appends the objects of a page that are in participating namespaces, and returns where the next page begins.
func (f *filter) keep(kept []runtime.Object, page runtime.Object) (all []runtime.Object, next string, err error) {
	about, err := meta.ListAccessor(page)
	if err != nil {
		return nil, "", err //nolint:wrapcheck // the caller does
	}
	items, err := meta.ExtractListWithAlloc(page) // else one object would keep its page in memory
	for _, item := range items {
		o, is := item.(client.Object)
		if !is {
			continue
		}
		f.track(o, true)
		if _, in := f.joined(o.GetNamespace()); in {
			kept = append(kept, item)
		}
	}
	return kept, about.GetContinue(), err //nolint:wrapcheck // the caller does
}

// watch watches what is in participating namespaces.
func (f *filter) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	initial := options.SendInitialEvents != nil && *options.SendInitialEvents
	if initial {
		if err := f.begin(ctx); err != nil {
			return nil, err
		}
		options.ResourceVersion = f.floor(options.ResourceVersion)
	} else if err := f.await(ctx); err != nil {
		return nil, err
	}
	from, err := f.from.WatchWithContext(ctx, options)
	if err != nil {
		return nil, err //nolint:wrapcheck // the reflector looks at it
	}
	ctx, stop := context.WithCancel(ctx)
	s := &stream{
		filter: f, watched: from, initial: initial, position: options.ResourceVersion, stop: stop,
		out: make(chan watch.Event), lists: make(chan *joining, 1), pause: firstPause, check: true,
	}
	f.ended = make(chan struct{})
	go s.run(ctx, f.ended)
	return s, nil
}

// await waits until the last watch has ended.
func (f *filter) await(ctx context.Context) error {
	select {
	case <-f.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("cannot end a watch: %w", context.Cause(ctx))
	}
}

// begin begins a list of all namespaces. The first lets all join that participate; in later ones some may have left.
func (f *filter) begin(ctx context.Context) error {
	if err := f.await(ctx); err != nil {
		return err
	}
	names, err := f.scope.names(ctx)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fresh = map[string]map[string]bool{}
	for name := range f.in {
		if !names[name] {
			delete(f.in, name)
		}
	}
	for name := range names {
		if _, in := f.in[name]; !in && !f.listed {
			f.in[name] = joined{ticket: f.scope.joins.Add(1)}
		}
	}
	return nil
}

// end ends a list of all namespaces.
func (f *filter) end() {
	f.mu.Lock()
	f.listed = true
	for name, is := range f.in { // the list is not older
		f.in[name] = joined{ticket: is.ticket}
	}
	fresh := f.fresh
	f.fresh = nil
	f.mu.Unlock()
	if _, pods := f.of.(*corev1.Pod); pods {
		f.scope.injectAll(fresh)
	}
}

// floor returns the later of a resourceVersion and those of the joins: what has joined must not go back in time.
func (f *filter) floor(version string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, is := range f.in {
		if version != "" && is.at != "" && after(is.at, version) { // the most recent is later than all
			version = is.at
		}
	}
	return version
}

func (f *filter) joined(namespace string) (is joined, in bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	is, in = f.in[namespace]
	return is, in
}

// join notes that the store has all objects of a namespace.
func (f *filter) join(namespace, at string) {
	ticket := f.scope.joins.Add(1)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.in[namespace] = joined{ticket, at}
}

// leave notes that the store may lack objects of a namespace.
func (f *filter) leave(namespace string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.in, namespace)
}

// members returns the namespaces that have joined.
func (f *filter) members() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := make([]string, 0, len(f.in))
	for name := range f.in {
		all = append(all, name)
	}
	return all
}

// track notes a pod that has an agent or has none, of any namespace.
func (f *filter) track(o client.Object, there bool) {
	p, is := o.(*corev1.Pod)
	if !is {
		return
	}
	has := there && object.Injected(p)
	f.mu.Lock()
	fresh := f.fresh
	if fresh != nil && has {
		if fresh[p.Namespace] == nil {
			fresh[p.Namespace] = map[string]bool{}
		}
		fresh[p.Namespace][p.Name] = true
	}
	f.mu.Unlock()
	if fresh == nil {
		f.scope.inject(p.Namespace, p.Name, has)
	}
}
