package supply

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/content"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/queue"
)

// answering is a source that answers when a test lets it.
type answering struct {
	fetches, running, most atomic.Int64
	answer                 chan error
}

func (a *answering) work(input, source string) Work {
	return Work{
		Input: sum(input), Source: sum(source),
		Fetch: func(ctx context.Context) (*content.Fetched, error) {
			a.fetches.Add(1)
			for now := a.running.Add(1); ; {
				if most := a.most.Load(); now <= most || a.most.CompareAndSwap(most, now) {
					break
				}
			}
			defer a.running.Add(-1)
			select {
			case err := <-a.answer:
				return &content.Fetched{}, err
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		},
		Render: func(context.Context, *content.Fetched) (content.Output, error) {
			return content.Output{Objects: []byte(input)}, nil
		},
	}
}

// sum returns the digest of a text.
func sum(text string) Digest { return sha256.Sum256([]byte(text)) }

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
	p := New(Places(), func(types.NamespacedName) { done.Done() })
	now := time.Unix(0, 0)
	for i := range 50 {
		done.Add(1)
		_, pending, err := p.Order(gone(t), named(i), a.work(fmt.Sprint(i), "one"), now)
		require.NoError(t, err)
		assert.Equal(t, now, pending)
	}
	require.Eventually(t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.fetches) == 1 && p.fetches[shared{"shop", sum("one")}].orders == 50
	}, time.Minute, time.Millisecond)
	a.answer <- nil
	done.Wait()
	assert.EqualValues(t, 1, a.fetches.Load())
	for i := range 50 {
		c, pending, err := p.Order(t.Context(), named(i), a.work(fmt.Sprint(i), "one"), now.Add(time.Hour))
		require.NoError(t, err)
		assert.Zero(t, pending)
		assert.Equal(t, fmt.Sprint(i), string(c.Objects), "each has its own rendering")
	}
	assert.Empty(t, p.orders, "a result is handed out once")
	assert.Empty(t, p.fetches)
}

// Sources that do not answer take no more than a namespace's part of the places, and give them back when
// nothing waits for them; another namespace's is fetched meanwhile (TRUST.md U6).
func TestFetchesAreBounded(t *testing.T) {
	a, other := newAnswering(), newAnswering()
	done := make(chan types.NamespacedName)
	p := New(Places(), func(name types.NamespacedName) { done <- name })
	most := int64(p.places.limits[queue.Fetch].Places - 1)
	for i := range 20 {
		p.Order(gone(t), named(i), a.work("x", fmt.Sprint(i)), time.Unix(0, 0))
	}
	lookup := named(0)
	lookup.Name += "/lookup"
	p.Order(gone(t), lookup, a.work("x", "lookup"), time.Unix(0, 0))
	require.Eventually(t, func() bool { return a.running.Load() == most }, time.Minute, time.Millisecond)
	small := types.NamespacedName{Namespace: "small", Name: "d"}
	p.Order(gone(t), small, other.work("y", "1"), time.Unix(0, 0))
	other.answer <- nil
	assert.Equal(t, small, <-done)
	c, pending, err := p.Order(gone(t), small, other.work("y", "1"), time.Unix(0, 0))
	require.NoError(t, err)
	assert.Zero(t, pending)
	assert.Equal(t, "y", string(c.Objects))
	for i := range 20 {
		p.Forget(named(i))
	}
	assert.Zero(t, p.Orders(), "nothing is waited for, also not by a name that continues another one")
	require.Eventually(t, func() bool { return a.running.Load() == 0 && p.places.idle() }, time.Minute, time.Millisecond)
	assert.Equal(t, most, a.most.Load())
}

// idle reports whether nothing runs, waits or is stored.
func (p *places) idle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.running)+len(p.waiting)+len(p.stored) == 0
}

// A result counts as stored until it is taken; a reconcile that does not take it drops it.
func TestUntakenResult(t *testing.T) {
	a := newAnswering()
	done := make(chan types.NamespacedName)
	p := New(Places(), func(name types.NamespacedName) { done <- name })
	p.Order(gone(t), named(1), a.work("x", "x"), time.Unix(0, 0))
	p.Use(named(1))() // it is not there yet
	a.answer <- nil
	<-done
	assert.Equal(t, map[queue.Job]int64{{Namespace: "shop", Task: queue.Render}: 1}, p.places.stored)
	end := p.Use(named(1))
	assert.NotEmpty(t, p.orders)
	end()
	assert.Empty(t, p.orders)
	assert.True(t, p.places.idle())
}

// An order with another input replaces the one before, whose fetch ends.
func TestNewerOrder(t *testing.T) {
	slow, quick := newAnswering(), newAnswering()
	var done atomic.Int64
	p := New(Places(), func(types.NamespacedName) { done.Add(1) })
	now := time.Unix(0, 0)
	p.Order(gone(t), named(1), slow.work("old", "slow"), now)
	require.Eventually(t, func() bool { return slow.running.Load() == 1 }, time.Minute, time.Millisecond)
	_, pending, _ := p.Order(gone(t), named(1), quick.work("new", "quick"), now.Add(time.Minute))
	assert.Equal(t, now.Add(time.Minute), pending, "its time begins anew")
	require.Eventually(t, func() bool { return slow.running.Load() == 0 }, time.Minute, time.Millisecond)
	quick.answer <- nil
	require.Eventually(t, func() bool { return done.Load() == 1 }, time.Minute, time.Millisecond)
	c, _, _ := p.Order(t.Context(), named(1), quick.work("new", "quick"), now)
	assert.Equal(t, "new", string(c.Objects))
	assert.EqualValues(t, 1, done.Load(), "of the old one nothing is reported")
}

// A reconcile that waited for a quick answer is not repeated for it, and a failure is tried again.
func TestQuickAnswer(t *testing.T) {
	a := newAnswering()
	p := New(Places(), func(types.NamespacedName) { assert.Fail(t, "nothing waits") })
	for range 2 {
		go func() { a.answer <- errors.New("404") }()
		_, pending, err := p.Order(t.Context(), named(1), a.work("x", "x"), time.Unix(0, 0))
		require.Zero(t, pending)
		var failed *FetchError
		require.ErrorAs(t, err, &failed)
	}
	assert.EqualValues(t, 2, a.fetches.Load())
}

// A job that gives up before it has a place, or just as it gets one, leaves the place to others.
func TestPlacesThatAreNotTaken(t *testing.T) {
	p := newPlaces(Places())
	job := queue.Job{Namespace: "a", Task: queue.Render}
	own := Places()[queue.Render].Places - 1
	for range own {
		require.NoError(t, p.enter(t.Context(), job))
	}
	ctx, end := context.WithCancelCause(t.Context())
	cause := errors.New("superseded")
	gaveUp := make(chan error)
	go func() { gaveUp <- p.enter(ctx, job) }()
	end(cause)
	require.ErrorIs(t, <-gaveUp, cause)
	require.NoError(t, p.enter(t.Context(), queue.Job{Namespace: "b", Task: queue.Render}), "another namespace has places")
	p.leave(queue.Job{Namespace: "b", Task: queue.Render}, 5)
	for range 200 { // its place and its end come at once
		ctx, end := context.WithCancelCause(t.Context())
		go func() {
			err := p.enter(ctx, job)
			if err == nil {
				p.leave(job, 0)
			}
			gaveUp <- err
		}()
		go end(cause)
		p.leave(job, 0)
		<-gaveUp
		require.NoError(t, p.enter(t.Context(), job))
	}
	for range own {
		p.leave(job, 0)
	}
	assert.Equal(t, map[queue.Job]int64{{Namespace: "b", Task: queue.Render}: 5}, p.stored)
	p.free(queue.Job{Namespace: "b", Task: queue.Render}, 5)
	assert.True(t, p.idle())
}

// A room that is full makes fetches wait until what was fetched is used up.
func TestPlacesWaitForRoom(t *testing.T) {
	p := newPlaces(Places())
	job := queue.Job{Namespace: "a", Task: queue.Fetch}
	for p.stored[job] < Places()[queue.Fetch].All/2 {
		require.NoError(t, p.enter(t.Context(), job))
		p.leave(job, content.MaxFetched)
	}
	entered := make(chan error)
	go func() { entered <- p.enter(t.Context(), job) }()
	require.Eventually(t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.waiting) == 1
	}, time.Minute, time.Millisecond)
	p.free(job, content.MaxFetched)
	require.NoError(t, <-entered)
}

// The error of a fetch is told apart from one of rendering, and quotes what the source answered and no more.
func TestFailuresAreToldApart(t *testing.T) {
	p := New(Places(), func(types.NamespacedName) {})
	w := newAnswering().work("x", "x")
	broken := errors.New("broken")
	w.Fetch = func(context.Context) (*content.Fetched, error) { return nil, broken }
	_, _, err := p.Order(t.Context(), named(1), w, time.Unix(0, 0))
	var fetching *FetchError
	require.ErrorAs(t, err, &fetching)
	require.ErrorIs(t, err, broken)
	assert.EqualError(t, err, "broken")

	w = newAnswering().work("y", "y")
	w.Fetch = func(context.Context) (*content.Fetched, error) { return &content.Fetched{}, nil }
	w.Render = func(context.Context, *content.Fetched) (content.Output, error) { return content.Output{}, broken }
	_, _, err = p.Order(t.Context(), named(2), w, time.Unix(0, 0))
	require.ErrorIs(t, err, broken)
	assert.NotErrorAs(t, err, &fetching)
}
