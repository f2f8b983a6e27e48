package object

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
)

// Errors of a definition whose objects say nothing.
var (
	errLeaving  = errors.New("it is being deleted, so its objects stay in the caches as they were: see docs/how-to/leave.md")
	errReplaced = errors.New("it was made again: the controller starts anew with the objects that it has now")
)

// Definitions keeps the objects of Orcon's kinds in the caches while their definition is being deleted: they go with it,
// and none of them has ended (TRUST.md T1). An object that a list or a watch shows as missing has gone only if a live
// read of the definition that comes later shows that it stays. A read that fails shows nothing.
type Definitions struct {
	live     client.Reader
	mu       sync.Mutex
	seen     map[string]types.UID
	replaced chan error
}

// NewDefinitions returns the definitions of a cluster.
func NewDefinitions(cfg *rest.Config) (*Definitions, error) {
	live, err := client.New(cfg, client.Options{})
	if err != nil {
		return nil, fmt.Errorf("cannot make a client: %w", err)
	}
	return readBy(live), nil
}

func readBy(live client.Reader) *Definitions {
	return &Definitions{live: live, seen: map[string]types.UID{}, replaced: make(chan error, 1)}
}

// CacheOptions returns those of caches that keep the objects of definitions that are being deleted.
func (d *Definitions) CacheOptions() cache.Options {
	o := CacheOptions()
	o.NewInformer = d.newInformer
	return o
}

// Start implements manager.Runnable. It fails when a definition was made again: the caches hold what went with the
// earlier one.
func (d *Definitions) Start(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-d.replaced:
		return err
	}
}

// NeedLeaderElection is false: each replica has caches.
func (d *Definitions) NeedLeaderElection() bool { return false }

func (d *Definitions) newInformer(
	from toolscache.ListerWatcher, of runtime.Object, resync time.Duration, indexers toolscache.Indexers,
) toolscache.SharedIndexInformer {
	if plural := pluralOf(of); plural != "" {
		from = d.guard(toolscache.ToListerWatcherWithContext(from), plural)
	}
	return toolscache.NewSharedIndexInformer(from, of, resync, indexers)
}

// pluralOf returns the plural of a kind of Orcon; empty for other kinds.
func pluralOf(o runtime.Object) string {
	scheme := runtime.NewScheme()
	if v1alpha1.AddToScheme(scheme) != nil {
		return ""
	}
	kind, err := apiutil.GVKForObject(o, scheme)
	if err != nil || kind.Group != v1alpha1.GroupVersion.Group {
		return ""
	}
	plural, _ := meta.UnsafeGuessKindToResource(kind)
	return plural.Resource
}

func (d *Definitions) guard(from toolscache.ListerWatcherWithContext, plural string) *toolscache.ListWatch {
	stays := func(ctx context.Context) error { return d.stays(ctx, plural) }
	return &toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, err := from.ListWithContext(ctx, options)
			if err == nil {
				err = stays(ctx)
			}
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			w, err := from.WatchWithContext(ctx, options)
			if err != nil {
				return nil, err
			}
			ctx, stop := context.WithCancel(ctx)
			p := &proven{from: w, stays: stays, stop: stop, out: make(chan watch.Event)}
			go p.run(ctx)
			return p, nil
		},
	}
}

// stays returns nil if the definition is there now, the one that was there before, and is not being deleted.
func (d *Definitions) stays(ctx context.Context, plural string) error {
	definition, err := Definition(ctx, d.live, plural)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.seen[plural] == "" {
		d.seen[plural] = definition.UID
	}
	switch {
	case definition.DeletionTimestamp != nil:
		err = errLeaving
	case d.seen[plural] != definition.UID:
		err = errReplaced
	default:
		return nil
	}
	err = fmt.Errorf("definition %s: %w", definition.Name, err)
	if errors.Is(err, errReplaced) {
		select {
		case d.replaced <- err:
		default: // one is enough
		}
	}
	return err
}

// mostUnproven is how many events of a watch wait for a read of the definition.
const mostUnproven = 1000

// proven is a watch whose deletions are delivered after a live read has shown that the definition stays. It ends
// with an error if it does not.
type proven struct {
	from  watch.Interface
	stays func(context.Context) error
	stop  func()
	out   chan watch.Event

	// waiting are the events that are not delivered yet. The read under way, whose answer comes by read, proves the
	// first of them, as many as reading.
	waiting []watch.Event
	reading int
	read    chan error
}

// Stop implements watch.Interface.
func (p *proven) Stop() { p.stop() }

// ResultChan implements watch.Interface.
func (p *proven) ResultChan() <-chan watch.Event { return p.out }

// run delivers events in order. One read proves all that came before it.
func (p *proven) run(ctx context.Context) {
	defer close(p.out)
	defer p.from.Stop()
	p.read = make(chan error, 1)
	for on := true; on; {
		in := p.from.ResultChan()
		if len(p.waiting) >= mostUnproven {
			in = nil
		}
		select {
		case <-ctx.Done():
			return
		case e, open := <-in:
			// An event that was not proven when the watch ends comes again with the next list.
			on = open && p.take(ctx, e)
		case err := <-p.read:
			on = p.answered(ctx, err)
		}
	}
}

// take delivers an event that needs no read, and has the others wait for one.
func (p *proven) take(ctx context.Context, e watch.Event) bool {
	if len(p.waiting) == 0 && !removes(e) {
		return p.deliver(ctx, e)
	}
	p.waiting = append(p.waiting, e)
	p.prove(ctx)
	return true
}

// answered delivers the events that a read has proven.
func (p *proven) answered(ctx context.Context, err error) bool {
	if err != nil {
		p.deliver(ctx, failed(err))
		return false
	}
	known := p.waiting[:p.reading]
	p.waiting, p.reading = p.waiting[p.reading:], 0
	if !p.deliver(ctx, known...) {
		return false
	}
	p.prove(ctx)
	return true
}

// prove begins a read for the events that wait, if none is under way.
func (p *proven) prove(ctx context.Context) {
	if p.reading == 0 && len(p.waiting) > 0 {
		p.reading = len(p.waiting)
		go func() { p.read <- p.stays(ctx) }()
	}
}

func (p *proven) deliver(ctx context.Context, events ...watch.Event) bool {
	for _, e := range events {
		select {
		case p.out <- e:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// removes reports whether an event lets objects be missing: a deletion, or the end of a list.
func removes(e watch.Event) bool {
	if e.Type != watch.Bookmark {
		return e.Type == watch.Deleted
	}
	o, err := meta.Accessor(e.Object)
	return err == nil && o.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
}

// failed returns the event that ends a watch, so that it begins anew with a list.
func failed(err error) watch.Event {
	return watch.Event{Type: watch.Error, Object: &metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonExpired, Message: err.Error(),
	}}
}
