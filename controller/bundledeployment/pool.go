package bundledeployment

import (
	"context"
	"crypto/sha256"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/golang/glog"
	"k8s.io/apimachinery/pkg/types"

	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

const (
	// fetchesAtOnce and rendersAtOnce bound what is fetched and rendered at a time: a fetch mostly
	// waits, a rendering computes.
	fetchesAtOnce = 16
	rendersAtOnce = 2
	// quick is how long a reconcile waits for contents, which mostly take less.
	quick = time.Second
)

// digest identifies what contents depend on.
type digest [sha256.Size]byte

// pool fetches and renders contents in the background. Deployments with the same sources and
// credentials share a fetch, and a deployment has one at a time, so that a server that does not
// answer takes few of the slots.
type pool struct {
	// done is called when contents are there that were pending.
	done func(types.NamespacedName)

	mu      sync.Mutex
	orders  map[types.NamespacedName]*order
	fetches map[digest]*fetching
	slots   chan struct{}
	renders chan struct{}
}

// newPool returns an empty pool.
func newPool(done func(types.NamespacedName)) *pool {
	return &pool{
		done: done, orders: map[types.NamespacedName]*order{}, fetches: map[digest]*fetching{},
		slots: make(chan struct{}, fetchesAtOnce), renders: make(chan struct{}, rendersAtOnce),
	}
}

// order is the contents that a deployment waits for.
type order struct {
	input digest
	began time.Time
	// ended is closed when the contents, or the stop, are there; awaited reports that a reconcile
	// ended before.
	ended    chan struct{}
	awaited  bool
	contents contents
	stop     *domain.Stop
	cancel   context.CancelFunc
}

// fetching is a fetch that orders share.
type fetching struct {
	orders int
	ended  chan struct{}
	tree   fetched
	err    error
	cancel context.CancelFunc
}

// fetched is the result of a fetch.
type fetched struct {
	tree     domain.Tree
	resolved []domain.Reference
}

// work is how an order is carried out.
type work struct {
	// input identifies all that the contents depend on, source the part that is fetched.
	input, source digest
	fetch         func(context.Context) (fetched, error)
	render        func(context.Context, fetched) (contents, *domain.Stop)
}

// order returns the contents of a deployment. Where they take longer than a moment, pending is the
// time of the order, and done is called later. An order with another input replaces the one
// before. A result is handed out once.
func (p *pool) order(ctx context.Context, name types.NamespacedName, w work, now time.Time) (
	c contents, stop *domain.Stop, pending time.Time,
) {
	p.mu.Lock()
	o, known := p.orders[name]
	if known && o.input != w.input {
		o.cancel()
		known = false
	}
	if !known {
		o = &order{input: w.input, began: now, ended: make(chan struct{})}
		// The work outlives the reconcile that began it.
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		o.cancel = cancel
		p.orders[name] = o
		go p.carryOut(ctx, name, o, w)
	}
	p.mu.Unlock()
	if !known {
		wait(ctx, o.ended)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-o.ended:
		o.cancel()
		delete(p.orders, name)
		return o.contents, o.stop, time.Time{}
	default:
		o.awaited = true
		return contents{}, nil, o.began
	}
}

// wait waits a moment for an end.
func wait(ctx context.Context, ended <-chan struct{}) {
	moment := time.NewTimer(quick)
	defer moment.Stop()
	select {
	case <-ended:
	case <-ctx.Done():
	case <-moment.C:
	}
}

// forget cancels what a deployment waits for.
func (p *pool) forget(name types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if o, known := p.orders[name]; known {
		o.cancel()
		delete(p.orders, name)
	}
}

// carryOut fetches and renders for an order, and has its deployment reconciled if that did not wait.
func (p *pool) carryOut(ctx context.Context, name types.NamespacedName, o *order, w work) {
	o.contents, o.stop = p.find(ctx, w)
	p.mu.Lock()
	close(o.ended)
	awaited := o.awaited && p.orders[name] == o
	p.mu.Unlock()
	if awaited {
		p.done(name)
	}
}

func (p *pool) find(ctx context.Context, w work) (c contents, stop *domain.Stop) {
	defer recovered(func(err error) { stop = stopAt(domain.Rendered, "RenderFailed", err) })
	f, err := p.fetch(ctx, w)
	if err != nil {
		return contents{}, stopAt(domain.Sourced, "FetchFailed", err)
	}
	if err := enter(ctx, p.renders); err != nil {
		return contents{}, stopAt(domain.Rendered, "RenderFailed", err)
	}
	defer func() { <-p.renders }()
	return w.render(ctx, f)
}

// fetch returns the result of the fetch that all orders of a source share. It ends when no order
// waits for it.
func (p *pool) fetch(ctx context.Context, w work) (fetched, error) {
	p.mu.Lock()
	f, known := p.fetches[w.source]
	if !known {
		f = &fetching{ended: make(chan struct{})}
		var shared context.Context
		shared, f.cancel = context.WithCancel(context.WithoutCancel(ctx))
		p.fetches[w.source] = f
		go p.run(shared, f, w)
	}
	f.orders++
	p.mu.Unlock()
	defer p.leave(f, w.source)
	select {
	case <-f.ended:
		return f.tree, f.err
	case <-ctx.Done():
		return fetched{}, context.Cause(ctx)
	}
}

func (p *pool) run(ctx context.Context, f *fetching, w work) {
	defer close(f.ended)
	if f.err = enter(ctx, p.slots); f.err != nil {
		return
	}
	defer func() { <-p.slots }()
	defer recovered(func(err error) { f.err = err })
	f.tree, f.err = w.fetch(ctx)
}

// recovered turns a panic into an error: contents that break a library stop their own deployment
// only.
func recovered(note func(error)) {
	if cause := recover(); cause != nil {
		glog.Errorf("panic: %v\n%s", cause, debug.Stack())
		note(fmt.Errorf("the content broke the program that reads it: %v", cause))
	}
}

// leave ends a fetch that no order waits for any more. The next one fetches anew.
func (p *pool) leave(f *fetching, source digest) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f.orders--; f.orders > 0 {
		return
	}
	f.cancel()
	if p.fetches[source] == f {
		delete(p.fetches, source)
	}
}

// enter takes a slot, which its user frees.
func enter(ctx context.Context, slots chan struct{}) error {
	select {
	case slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
