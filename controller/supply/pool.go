package supply

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/golang/glog"
	"k8s.io/apimachinery/pkg/types"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/content"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/queue"
)

// quick is how long a reconcile waits for contents, which mostly take less.
const quick = time.Second

// Digest identifies what contents depend on.
type Digest [sha256.Size]byte

// Sum returns the digest of values: strings, numbers, bytes, and structs of them.
func Sum(values ...any) Digest {
	text, err := json.Marshal(values)
	if err != nil { // nothing of it can fail
		panic(err)
	}
	return sha256.Sum256(text)
}

// Pool fetches and renders contents in the background, fairly between namespaces. Deployments of a
// namespace with the same sources and credentials share a fetch, and a deployment has one at a time.
type Pool struct {
	done    func(types.NamespacedName)
	places  *places
	mu      sync.Mutex
	orders  map[types.NamespacedName]*order
	fetches map[shared]*fetching
}

// New returns an empty pool. done is called when contents are there that were pending.
func New(limits queue.Limits, done func(types.NamespacedName)) *Pool {
	return &Pool{done: done, places: newPlaces(limits), orders: map[types.NamespacedName]*order{}, fetches: map[shared]*fetching{}}
}

// shared identifies a fetch. Namespaces do not share one, so that none waits for a place of another's.
type shared struct {
	namespace string
	source    Digest
}

// order is the contents that a deployment waits for.
type order struct {
	input Digest
	began time.Time
	// ended is closed when the contents, or the error, are there; awaited reports that a reconcile
	// ended before.
	ended   chan struct{}
	awaited bool
	result  Result
	err     error
	cancel  context.CancelFunc
}

// fetching is a fetch that orders share.
type fetching struct {
	orders  int
	ended   chan struct{}
	content *content.Fetched
	err     error
	cancel  context.CancelFunc
}

// Result is contents as a process has written them. Of content that was known there are no objects.
type Result struct {
	content.Output

	Content  Digest
	Resolved []domain.Reference
}

// FetchError is the error of content that cannot be fetched; other errors are about rendering.
type FetchError struct{ Err error }

// Error returns the text of the error.
func (e *FetchError) Error() string { return e.Err.Error() }

// Unwrap returns the error.
func (e *FetchError) Unwrap() error { return e.Err }

// Work is how an order is carried out.
type Work struct {
	// Input identifies all that the contents depend on, Source the part that is fetched.
	Input, Source Digest
	// Known is the content that need not be rendered again; zero for none.
	Known  Digest
	Fetch  func(context.Context) (*content.Fetched, error)
	Render func(context.Context, *content.Fetched) (content.Output, error)
}

// Order returns the contents of a deployment. If they take longer than a moment, pending is the time of the order,
// and done is called later. An order with another input replaces the one before. A result is handed out once.
func (p *Pool) Order(ctx context.Context, name types.NamespacedName, w Work, now time.Time) (
	r Result, pending time.Time, err error,
) {
	p.mu.Lock()
	o, known := p.orders[name]
	if known && o.input != w.Input {
		p.drop(name, o)
		known = false
	}
	if !known {
		o = &order{input: w.Input, began: now, ended: make(chan struct{})}
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
	if !o.hasEnded() {
		o.awaited = true
		return Result{}, o.began, nil
	}
	p.drop(name, o)
	return o.result, time.Time{}, o.err
}

// hasEnded reports whether the result is there.
func (o *order) hasEnded() bool {
	select {
	case <-o.ended:
		return true
	default:
		return false
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

// drop ends an order, whose result no longer counts as stored. The caller holds the lock.
func (p *Pool) drop(name types.NamespacedName, o *order) {
	o.cancel()
	delete(p.orders, name)
	if o.hasEnded() {
		p.places.free(queue.Job{Namespace: name.Namespace, Task: queue.Render}, int64(len(o.result.Objects)))
	}
}

// Orders returns how many deployments wait.
func (p *Pool) Orders() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.orders)
}

// Forget cancels what a deployment waits for, also by names that continue its own after a slash.
func (p *Pool) Forget(name types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for one, o := range p.orders {
		if own, _, _ := strings.Cut(one.Name, "/"); one.Namespace == name.Namespace && own == name.Name {
			p.drop(one, o)
		}
	}
}

// Use begins a reconcile, and returns its end: a result that was there before and is not taken is dropped,
// so that a deployment that stops for another reason keeps no memory.
func (p *Pool) Use(name types.NamespacedName) (end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	o, known := p.orders[name]
	if !known || !o.hasEnded() {
		return func() {}
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.orders[name] == o {
			p.drop(name, o)
		}
	}
}

// carryOut fetches and renders for an order, and has its deployment reconciled if that did not wait.
func (p *Pool) carryOut(ctx context.Context, name types.NamespacedName, o *order, w Work) {
	result, err := p.find(ctx, name.Namespace, w)
	p.mu.Lock()
	current := p.orders[name] == o
	if current {
		o.result, o.err = result, err
		close(o.ended)
	} else { // replaced or forgotten
		p.places.free(queue.Job{Namespace: name.Namespace, Task: queue.Render}, int64(len(result.Objects)))
	}
	awaited := current && o.awaited
	p.mu.Unlock()
	if awaited {
		p.done(name)
	}
}

// find returns the contents, whose memory counts as stored, or the error that prevents them.
func (p *Pool) find(ctx context.Context, namespace string, w Work) (Result, error) {
	key := shared{namespace, w.Source}
	f := p.join(ctx, key, w)
	defer p.leave(f, key)
	select {
	case <-f.ended:
	case <-ctx.Done():
		return Result{}, &FetchError{context.Cause(ctx)}
	}
	if f.err != nil {
		return Result{}, &FetchError{f.err}
	}
	r := Result{Content: f.content.Digest(), Resolved: f.content.Resolved}
	if r.Content == w.Known {
		return r, nil
	}
	var err error
	if r.Output, err = p.render(ctx, namespace, w, f.content); err != nil {
		return Result{}, err
	}
	return r, nil
}

// render renders content when its turn comes.
func (p *Pool) render(ctx context.Context, namespace string, w Work, found *content.Fetched) (content.Output, error) {
	job := queue.Job{Namespace: namespace, Task: queue.Render}
	if err := p.places.enter(ctx, job); err != nil {
		return content.Output{}, err
	}
	out, err := w.Render(ctx, found)
	p.places.leave(job, int64(len(out.Objects)))
	return out, err
}

// join returns the fetch that all orders of a source share. It ends when no order waits for it.
func (p *Pool) join(ctx context.Context, key shared, w Work) *fetching {
	p.mu.Lock()
	defer p.mu.Unlock()
	f, known := p.fetches[key]
	if !known {
		f = &fetching{ended: make(chan struct{})}
		var common context.Context
		common, f.cancel = context.WithCancel(context.WithoutCancel(ctx))
		p.fetches[key] = f
		go p.run(common, key, f, w)
	}
	f.orders++
	return f
}

// run fetches. The content counts as stored until the last order leaves.
func (p *Pool) run(ctx context.Context, key shared, f *fetching, w Work) {
	job := queue.Job{Namespace: key.namespace, Task: queue.Fetch}
	if f.err = p.places.enter(ctx, job); f.err == nil {
		f.content, f.err = w.Fetch(ctx)
		p.places.leave(job, f.size())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	close(f.ended)
	if f.orders == 0 {
		p.discard(key, f)
	}
}

// size returns how many bytes the content takes.
func (f *fetching) size() int64 {
	if f.err != nil {
		return 0
	}
	return f.content.Size()
}

// leave ends a fetch that no order waits for any more. The next one fetches anew.
func (p *Pool) leave(f *fetching, key shared) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f.orders--; f.orders > 0 {
		return
	}
	f.cancel()
	if p.fetches[key] == f {
		delete(p.fetches, key)
	}
	select {
	case <-f.ended:
		p.discard(key, f)
	default: // run does it
	}
}

// discard removes the content of a fetch that has ended.
func (p *Pool) discard(key shared, f *fetching) {
	if f.err != nil {
		return
	}
	p.places.free(queue.Job{Namespace: key.namespace, Task: queue.Fetch}, f.size())
	if err := f.content.Close(); err != nil {
		glog.Errorf("cannot close fetched content: %v", err)
	}
}
