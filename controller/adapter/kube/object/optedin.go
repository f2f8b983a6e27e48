package object

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/cache"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// ErrNotSynced reports that the namespaces have not been read yet.
var ErrNotSynced = errors.New("not synced yet")

// ErrIncomplete reports that a cache does not have all objects of a namespace.
var ErrIncomplete = errors.New("its cache does not have all of them yet")

// NamespaceInformer is the part of an informer that [NewOptedIn] needs.
// Informers of client-go and of controller-runtime's cache have it.
type NamespaceInformer interface {
	AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error)
}

// OptedIn keeps the names of the namespaces that opted in, as an informer
// has them.
type OptedIn struct {
	registration cache.ResourceEventHandlerRegistration

	lock   sync.Mutex
	names  map[string]bool
	notify []func()
}

// NewOptedIn follows an informer of Namespaces or of their metadata. The
// caller starts the informer.
func NewOptedIn(informer NamespaceInformer) (*OptedIn, error) {
	o := &OptedIn{names: map[string]bool{}}
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { o.see(obj, true) },
		UpdateFunc: func(_, obj any) { o.see(obj, true) },
		DeleteFunc: func(obj any) { o.see(obj, false) },
	})
	if err != nil {
		return nil, fmt.Errorf("cannot follow namespaces: %w", err)
	}
	o.registration = registration
	return o, nil
}

// see notes one namespace, and calls the functions of Notify if that changed anything.
func (o *OptedIn) see(obj any, exists bool) {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	ns, err := meta.Accessor(obj)
	if err != nil {
		return
	}
	wanted := exists && ns.GetDeletionTimestamp() == nil && ns.GetLabels()[application.LabelOptIn] == application.OptedIn
	for _, f := range o.set(ns.GetName(), wanted) {
		f()
	}
}

// set notes one name, and returns the functions to call.
func (o *OptedIn) set(name string, wanted bool) []func() {
	o.lock.Lock()
	defer o.lock.Unlock()
	if o.names[name] == wanted {
		return nil
	}
	if wanted {
		o.names[name] = true
	} else {
		delete(o.names, name)
	}
	return slices.Clone(o.notify)
}

// Names returns the opted-in namespaces that are not being deleted, in any order. Its error is ErrNotSynced until they
// are known: nothing is decided from part of a list.
func (o *OptedIn) Names() ([]string, error) {
	if !o.registration.HasSynced() {
		return nil, fmt.Errorf("cannot list opted-in namespaces: %w", ErrNotSynced)
	}
	o.lock.Lock()
	defer o.lock.Unlock()
	out := make([]string, 0, len(o.names))
	for name := range o.names {
		out = append(out, name)
	}
	return out, nil
}

// Notify has f called after each change.
func (o *OptedIn) Notify(f func()) {
	o.lock.Lock()
	defer o.lock.Unlock()
	o.notify = append(o.notify, f)
}
