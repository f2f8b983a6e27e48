package election

import (
	"context"
	"fmt"
	"sync"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Lent is the cache of a process, as the loops of one term use it: they do not run it, and leave no handlers in it.
type Lent struct {
	cache.Cache

	mu     sync.Mutex
	remove []func() error
}

// Start waits until ctx ends: the process runs the cache.
func (l *Lent) Start(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// GetInformer returns the informer of an object's kind.
func (l *Lent) GetInformer(ctx context.Context, o client.Object, options ...cache.InformerGetOption) (cache.Informer, error) {
	informer, err := l.Cache.GetInformer(ctx, o, options...)
	return lentInformer{informer, l}, err
}

// Return removes the handlers of the term.
func (l *Lent) Return() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, remove := range l.remove {
		if err := remove(); err != nil {
			return fmt.Errorf("cannot remove a handler: %w", err)
		}
	}
	l.remove = nil
	return nil
}

// lentInformer is an informer of a lent cache.
type lentInformer struct {
	cache.Informer

	lent *Lent
}

// AddEventHandler adds a handler until the term ends.
func (i lentInformer) AddEventHandler(handler toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.added(i.Informer.AddEventHandler(handler))
}

// AddEventHandlerWithOptions adds a handler until the term ends.
func (i lentInformer) AddEventHandlerWithOptions(
	handler toolscache.ResourceEventHandler, options toolscache.HandlerOptions,
) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.added(i.Informer.AddEventHandlerWithOptions(handler, options))
}

// added notes a handler that was added.
func (i lentInformer) added(
	registration toolscache.ResourceEventHandlerRegistration, err error,
) (toolscache.ResourceEventHandlerRegistration, error) {
	if err == nil {
		i.lent.mu.Lock()
		defer i.lent.mu.Unlock()
		i.lent.remove = append(i.lent.remove, func() error { return i.RemoveEventHandler(registration) })
	}
	return registration, err
}
