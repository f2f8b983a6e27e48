package election

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// lender is a cache with one informer.
type lender struct {
	cache.Cache
	cache.Informer

	handlers map[toolscache.ResourceEventHandlerRegistration]bool
	fails    error
}

// registration is the registration of one handler.
type registration struct {
	toolscache.ResourceEventHandlerRegistration

	number int
}

func (l *lender) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return l, l.fails
}

func (l *lender) AddEventHandler(toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	r := registration{number: len(l.handlers)}
	if l.fails == nil {
		l.handlers[r] = true
	}
	return r, l.fails
}

func (l *lender) AddEventHandlerWithOptions(
	h toolscache.ResourceEventHandler, _ toolscache.HandlerOptions,
) (toolscache.ResourceEventHandlerRegistration, error) {
	return l.AddEventHandler(h)
}

func (l *lender) RemoveEventHandler(r toolscache.ResourceEventHandlerRegistration) error {
	delete(l.handlers, r)
	return l.fails
}

// A term leaves no handler in the cache that it was lent, and does not run it.
func TestLentCache(t *testing.T) {
	of := &lender{handlers: map[toolscache.ResourceEventHandlerRegistration]bool{}}
	lent := &Lent{Cache: of}
	informer, err := lent.GetInformer(t.Context(), &corev1.Pod{})
	require.NoError(t, err)
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{})
	require.NoError(t, err)
	_, err = informer.AddEventHandlerWithOptions(toolscache.ResourceEventHandlerFuncs{}, toolscache.HandlerOptions{})
	require.NoError(t, err)
	assert.Len(t, of.handlers, 2)
	require.NoError(t, lent.Return())
	assert.Empty(t, of.handlers)
	require.NoError(t, lent.Return(), "again")

	ctx, end := context.WithCancel(t.Context())
	end()
	require.NoError(t, lent.Start(ctx))
}

// A handler that could not be added is not removed, and one that cannot be removed is reported.
func TestLentCacheFails(t *testing.T) {
	of := &lender{handlers: map[toolscache.ResourceEventHandlerRegistration]bool{}, fails: errors.New("broken")}
	lent := &Lent{Cache: of}
	informer, err := lent.GetInformer(t.Context(), &corev1.Pod{})
	require.ErrorIs(t, err, of.fails)
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{})
	require.ErrorIs(t, err, of.fails)
	require.NoError(t, lent.Return())

	of.fails = nil
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{})
	require.NoError(t, err)
	of.fails = errors.New("broken")
	require.ErrorIs(t, lent.Return(), of.fails)
}
