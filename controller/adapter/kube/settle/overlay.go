package settle

import (
	"maps"
	"reflect"
	"slices"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
)

// overlay holds what this process wrote until the caches show it. Whether they
// do is told by a cache's revision, not by its events: an object that is
// deleted while a watch is down has no event, and must not come back to life.
//
// A namespace is read and written by one worker at a time.
type overlay struct {
	mu      sync.Mutex
	written map[place]map[string]client.Object
}

// place is a kind in a namespace.
type place struct {
	kind      reflect.Type
	namespace string
}

func placeOf(o client.Object) place { return place{reflect.TypeOf(o), o.GetNamespace()} }

// wrote notes an object as the API server returned it.
func (v *overlay) wrote(o client.Object) {
	kept, isObject := o.DeepCopyObject().(client.Object)
	if !isObject {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.written == nil {
		v.written = map[place]map[string]client.Object{}
	}
	if v.written[placeOf(o)] == nil {
		v.written[placeOf(o)] = map[string]client.Object{}
	}
	v.written[placeOf(o)][o.GetName()] = kept
}

// unseen returns by name what was written in a place and is newer than a cache
// that has caught up to a revision; the rest is forgotten. The revision must be
// read before the cache is: what comes in between is then in both.
func (v *overlay) unseen(p place, caughtUp uint64) map[string]client.Object {
	v.mu.Lock()
	defer v.mu.Unlock()
	maps.DeleteFunc(v.written[p], func(_ string, o client.Object) bool { return object.Revision(o) <= caughtUp })
	if len(v.written[p]) == 0 {
		delete(v.written, p)
	}
	return maps.Clone(v.written[p])
}

// merge lays what was written over what is cached.
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
