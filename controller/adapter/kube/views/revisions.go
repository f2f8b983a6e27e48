package views

import (
	"maps"
	"sync"

	toolscache "k8s.io/client-go/tools/cache"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
)

// revisions counts the revisions of the objects that this replica has received, by the plural name of the kind.
type revisions struct {
	mu     sync.Mutex
	seen   map[string]uint64
	stores map[string]toolscache.Store
}

// count counts the revision of a store as well.
func (r *revisions) count(kind string, store toolscache.Store) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stores == nil {
		r.stores = map[string]toolscache.Store{}
	}
	r.stores[kind] = store
}

func (r *revisions) raise(kind string, to uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = map[string]uint64{}
	}
	r.seen[kind] = max(r.seen[kind], to)
}

// Revisions returns, for each kind, the highest revision of an object that this replica has received
// or shown in a view: nothing that was viewed before is newer (SAFETY.md V4). A deletion during an
// interrupted watch is not received; what is absent is unknown, not new (SAFETY.md E13).
func (r *revisions) Revisions() map[string]uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.seen)
}

// CaughtUp returns the revision that each kind is known to be at: what is viewed later is at least as
// new. It includes the revisions of objects that are not in the caches. Replicas with the same objects
// differ in it, so that it is not for agents.
func (r *revisions) CaughtUp() map[string]uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make(map[string]uint64, len(r.stores))
	for kind, store := range r.stores {
		all[kind] = max(r.seen[kind], object.ParseRevision(store.LastStoreSyncResourceVersion()))
	}
	return all
}
