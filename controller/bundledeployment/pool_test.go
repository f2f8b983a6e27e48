package bundledeployment

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// answering is a source that answers when a test lets it.
type answering struct {
	fetches, running, most atomic.Int64
	answer                 chan error
}

func (a *answering) work(input, source string) work {
	return work{
		input: sum(input), source: sum(source),
		fetch: func(ctx context.Context) (fetched, error) {
			a.fetches.Add(1)
			for now := a.running.Add(1); ; {
				if most := a.most.Load(); now <= most || a.most.CompareAndSwap(most, now) {
					break
				}
			}
			defer a.running.Add(-1)
			select {
			case err := <-a.answer:
				return fetched{}, err
			case <-ctx.Done():
				return fetched{}, context.Cause(ctx)
			}
		},
		render: func(context.Context, fetched) (contents, *domain.Stop) { return contents{manifest: input}, nil },
	}
}

func newAnswering() *answering { return &answering{answer: make(chan error)} }

func named(i int) types.NamespacedName {
	return types.NamespacedName{Namespace: "shop", Name: fmt.Sprint("d", i)}
}

// gone is a context that waits for nothing.
func gone(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// Deployments of one source share its fetch, and each that waited is reconciled again.
func TestFetchesAreShared(t *testing.T) {
	a := newAnswering()
	var done sync.WaitGroup
	p := newPool(func(types.NamespacedName) { done.Done() })
	now := time.Unix(0, 0)
	for i := range 50 {
		done.Add(1)
		_, stop, pending := p.order(gone(t), named(i), a.work(fmt.Sprint(i), "one"), now)
		assert.Nil(t, stop)
		assert.Equal(t, now, pending)
	}
	require.Eventually(t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.fetches) == 1 && p.fetches[sum("one")].orders == 50
	}, time.Minute, time.Millisecond)
	a.answer <- nil
	done.Wait()
	assert.EqualValues(t, 1, a.fetches.Load())
	for i := range 50 {
		c, stop, pending := p.order(t.Context(), named(i), a.work(fmt.Sprint(i), "one"), now.Add(time.Hour))
		assert.Nil(t, stop)
		assert.Zero(t, pending)
		assert.Equal(t, fmt.Sprint(i), c.manifest, "each has its own rendering")
	}
	assert.Empty(t, p.orders, "a result is handed out once")
	assert.Empty(t, p.fetches)
}

// Sources that do not answer take no more than their slots, and give them back when nothing waits
// for them.
func TestFetchesAreBounded(t *testing.T) {
	a := newAnswering()
	p := newPool(func(types.NamespacedName) {})
	for i := range 5 * fetchesAtOnce {
		p.order(gone(t), named(i), a.work("x", fmt.Sprint(i)), time.Unix(0, 0))
	}
	require.Eventually(t, func() bool { return a.running.Load() == fetchesAtOnce }, time.Minute, time.Millisecond)
	for i := range 5 * fetchesAtOnce {
		p.forget(named(i))
	}
	require.Eventually(t, func() bool { return a.running.Load() == 0 && len(p.slots) == 0 }, time.Minute, time.Millisecond)
	assert.EqualValues(t, fetchesAtOnce, a.most.Load())
}

// An order with another input replaces the one before, whose fetch ends.
func TestNewerOrder(t *testing.T) {
	slow, quick := newAnswering(), newAnswering()
	var done atomic.Int64
	p := newPool(func(types.NamespacedName) { done.Add(1) })
	now := time.Unix(0, 0)
	p.order(gone(t), named(1), slow.work("old", "slow"), now)
	require.Eventually(t, func() bool { return slow.running.Load() == 1 }, time.Minute, time.Millisecond)
	_, _, pending := p.order(gone(t), named(1), quick.work("new", "quick"), now.Add(time.Minute))
	assert.Equal(t, now.Add(time.Minute), pending, "its time begins anew")
	require.Eventually(t, func() bool { return slow.running.Load() == 0 }, time.Minute, time.Millisecond)
	quick.answer <- nil
	require.Eventually(t, func() bool { return done.Load() == 1 }, time.Minute, time.Millisecond)
	c, _, _ := p.order(t.Context(), named(1), quick.work("new", "quick"), now)
	assert.Equal(t, "new", c.manifest)
	assert.EqualValues(t, 1, done.Load(), "of the old one nothing is reported")
}

// A reconcile that waited for a quick answer is not repeated for it, and a failure is tried again.
func TestQuickAnswer(t *testing.T) {
	a := newAnswering()
	p := newPool(func(types.NamespacedName) { assert.Fail(t, "nothing waits") })
	for range 2 {
		go func() { a.answer <- errors.New("404") }()
		_, stop, pending := p.order(t.Context(), named(1), a.work("x", "x"), time.Unix(0, 0))
		require.Zero(t, pending)
		require.NotNil(t, stop)
		assert.Equal(t, "FetchFailed", stop.Reason)
	}
	assert.EqualValues(t, 2, a.fetches.Load())
}
