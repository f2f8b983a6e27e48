package settle

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
)

// latest knows what the caches show and what this process wrote. The stores are those of the caches, by kind.
type latest struct {
	overlay

	stores map[reflect.Type]toolscache.Store
	// passes are the last observations, by namespace.
	passes map[string]pass
}

// pass is how new the objects are from which the decisions on a namespace are made.
type pass struct {
	// caughtUp has the revision of each cache before it was read.
	caughtUp map[reflect.Type]uint64
	// own has the revisions that this process has written since, or that were in no cache then.
	own map[uint64]bool
}

// follow adds the store of a kind's informer.
func (l *latest) follow(kind client.Object, store toolscache.Store) {
	if l.stores == nil {
		l.stores = map[reflect.Type]toolscache.Store{}
	}
	l.stores[reflect.TypeOf(kind)] = store
}

// begin begins to observe a namespace.
func (l *latest) begin(namespace string) {
	p := pass{map[reflect.Type]uint64{}, map[uint64]bool{}}
	for kind, store := range l.stores {
		p.caughtUp[kind] = object.ParseRevision(store.LastStoreSyncResourceVersion())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for at, written := range l.written {
		if at.namespace == namespace {
			for _, o := range written {
				p.own[object.Revision(o)] = true
			}
		}
	}
	if l.passes == nil {
		l.passes = map[string]pass{}
	}
	l.passes[namespace] = p
}

// wrote keeps an object as the API server returned it.
func (l *latest) wrote(o client.Object) {
	l.overlay.wrote(o)
	l.mu.Lock()
	defer l.mu.Unlock()
	if p, observed := l.passes[o.GetNamespace()]; observed {
		p.own[object.Revision(o)] = true
	}
}

// unmoved returns an error if another process has written an object since its namespace was observed: what was decided
// then may be wrong now, as where a replica that is deposed would end a relation that the next leader keeps.
func (l *latest) unmoved(o client.Object) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.passes[o.GetNamespace()]
	caughtUp, followed := p.caughtUp[reflect.TypeOf(o)]
	if at := object.Revision(o); !followed || at <= caughtUp || p.own[at] {
		return nil
	}
	return apierrors.NewConflict(schema.GroupResource{}, o.GetName(), errors.New("it has changed since it was observed"))
}

// unseen returns by name what this process wrote in a scope and is in no cache yet. Call it before the cache is read.
func (l *latest) unseen(at scope) map[string]client.Object {
	caughtUp := uint64(0)
	if store := l.stores[at.kind]; store != nil {
		caughtUp = object.ParseRevision(store.LastStoreSyncResourceVersion())
	}
	return l.newer(at, caughtUp)
}

// overlay holds what this process wrote until the caches show it. A cache is compared by its revision, not
// by its events: an object that is deleted during an interrupted watch has no event, and must not come
// back to life.
//
// A namespace is read and written by one worker at a time.
type overlay struct {
	mu      sync.Mutex
	written map[scope]map[string]client.Object
}

// scope is a kind in a namespace.
type scope struct {
	kind      reflect.Type
	namespace string
}

func scopeOf(o client.Object) scope { return scope{reflect.TypeOf(o), o.GetNamespace()} }

// wrote keeps an object as the API server returned it.
func (v *overlay) wrote(o client.Object) {
	kept, isObject := o.DeepCopyObject().(client.Object)
	if !isObject {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.written == nil {
		v.written = map[scope]map[string]client.Object{}
	}
	if v.written[scopeOf(o)] == nil {
		v.written[scopeOf(o)] = map[string]client.Object{}
	}
	v.written[scopeOf(o)][o.GetName()] = kept
}

// newer returns by name what was written in a scope and is newer than a cache that has caught up to a
// revision; the rest is forgotten. The revision must be read before the cache is: what is written in
// between is then in both.
func (v *overlay) newer(at scope, caughtUp uint64) map[string]client.Object {
	v.mu.Lock()
	defer v.mu.Unlock()
	maps.DeleteFunc(v.written[at], func(_ string, o client.Object) bool { return object.Revision(o) <= caughtUp })
	if len(v.written[at]) == 0 {
		delete(v.written, at)
	}
	return maps.Clone(v.written[at])
}

// merge lays written objects over cached ones.
func merge[T client.Object](cached []T, unseen map[string]client.Object) []T {
	for i, o := range cached {
		if w, ok := unseen[o.GetName()].(T); ok && object.Revision(w) > object.Revision(o) {
			cached[i] = w
		}
		delete(unseen, o.GetName())
	}
	for _, name := range slices.Sorted(maps.Keys(unseen)) {
		if w, ok := unseen[name].(T); ok {
			cached = append(cached, w)
		}
	}
	return cached
}
