package kube

import (
	"reflect"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// overlay holds what this process wrote until the caches show it.
type overlay struct {
	mu      sync.Mutex
	written map[overlayKey]client.Object
}

type overlayKey struct {
	kind reflect.Type
	name types.NamespacedName
}

func keyOf(o client.Object) overlayKey {
	return overlayKey{reflect.TypeOf(o), client.ObjectKeyFromObject(o)}
}

// revision is an object's resourceVersion as the number that it is
// (since Kubernetes 1.35 it may be compared).
func revision(o client.Object) uint64 { return parseRevision(o.GetResourceVersion()) }

func parseRevision(text string) uint64 {
	n, _ := strconv.ParseUint(text, 10, 64)
	return n
}

// wrote notes an object as the API server returned it.
func (v *overlay) wrote(o client.Object) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.written == nil {
		v.written = map[overlayKey]client.Object{}
	}
	v.written[keyOf(o)] = o
}

// seen drops what a cache has caught up with, or what is deleted.
func (v *overlay) seen(o client.Object) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if w, ok := v.written[keyOf(o)]; ok && revision(w) <= revision(o) {
		delete(v.written, keyOf(o))
	}
}

// latest returns the later of a cached object and what was written.
func latest[T client.Object](v *overlay, cached T) T {
	v.mu.Lock()
	defer v.mu.Unlock()
	if w, ok := v.written[keyOf(cached)]; ok && revision(w) > revision(cached) {
		if typed, ok := w.(T); ok {
			return typed
		}
	}
	return cached
}

// unseen returns the written objects of T's kind in a namespace that no cache
// shows yet.
func unseen[T client.Object](v *overlay, namespace string, cached map[string]bool) []T {
	v.mu.Lock()
	defer v.mu.Unlock()
	var all []T
	for key, w := range v.written {
		if typed, ok := w.(T); ok && key.name.Namespace == namespace && !cached[key.name.Name] {
			all = append(all, typed)
		}
	}
	return all
}
