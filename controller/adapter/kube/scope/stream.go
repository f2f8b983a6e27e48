package scope

import (
	"context"
	"fmt"
	"time"

	"github.com/golang/glog"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// mostHeld is how many events wait for the list of a namespace that joins.
	mostHeld = 1000
	// firstPause and lastPause bound the pause after a list that failed; it doubles in between.
	firstPause, lastPause = 100 * time.Millisecond, 30 * time.Second
	// storedEvery is the pause between two looks at a store.
	storedEvery = time.Millisecond
)

// stream is a watch that lets through events of namespaces that have joined. Other events become bookmarks, so that the
// watch goes on from there when it breaks. It delivers what a namespace that joins holds, and deletes from the store what
// one that leaves held.
type stream struct {
	*filter

	watched watch.Interface
	stop    func()
	out     chan watch.Event
	// initial is set until all objects of a list by events have come, and position is the last resourceVersion.
	initial  bool
	position string
	// check is set when a namespace may have to join or leave, and joining is the one that is being listed.
	check   bool
	joining *joining
	lists   chan *joining
	pause   time.Duration
	again   <-chan time.Time
	// barriers counts those that were sent.
	barriers int
}

// joining is a namespace that is being listed, and its events meanwhile.
type joining struct {
	namespace string
	events    []watch.Event
	objects   []runtime.Object
	at        string
	err       error
}

// Stop implements watch.Interface.
func (s *stream) Stop() { s.stop() }

// ResultChan implements watch.Interface.
func (s *stream) ResultChan() <-chan watch.Event { return s.out }

func (s *stream) run(ctx context.Context, ended chan struct{}) {
	defer close(ended)
	defer close(s.out)
	defer s.watched.Stop()
	for on := true; on; {
		if on = s.adjust(ctx); !on {
			return
		}
		in := s.watched.ResultChan()
		if s.joining != nil && len(s.joining.events) >= mostHeld {
			in = nil
		}
		select {
		case <-ctx.Done():
			return
		case e, open := <-in:
			on = open && s.take(ctx, e)
		case <-s.changed:
			s.check = true
		case <-s.again:
			s.again, s.check = nil, true
		case j := <-s.lists:
			on = s.join(ctx, j)
		}
	}
}

// take delivers an event or what stands for it.
func (s *stream) take(ctx context.Context, e watch.Event) bool {
	o, is := e.Object.(client.Object)
	switch {
	case !is || e.Type == watch.Error:
		return s.deliver(ctx, e)
	case e.Type == watch.Bookmark:
		s.position = o.GetResourceVersion()
		if s.initial && o.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true" {
			s.initial = false
			s.end()
		}
		return s.deliver(ctx, e)
	}
	s.track(o, e.Type != watch.Deleted)
	joined, in := s.joined(o.GetNamespace())
	if s.initial {
		return !in || s.deliver(ctx, e)
	}
	s.position = o.GetResourceVersion()
	if j := s.joining; j != nil && j.namespace == o.GetNamespace() {
		j.events = append(j.events, e)
	}
	if !in || joined.at != "" && !after(s.position, joined.at) {
		return s.deliver(ctx, s.bookmark(s.position))
	}
	return s.deliver(ctx, e)
}

// adjust has namespaces leave, and begins to list one that joins.
func (s *stream) adjust(ctx context.Context) bool {
	if !s.check || s.initial || s.position == "" || s.joining != nil {
		return true
	}
	names, err := s.scope.names(ctx)
	if err != nil {
		return false
	}
	s.check = false
	for _, namespace := range s.members() {
		if !names[namespace] && !s.part(ctx, namespace) {
			return false
		}
	}
	for namespace := range names { // in any order, so that one whose list fails holds back none
		if _, in := s.joined(namespace); !in && s.again == nil {
			s.ask(ctx, namespace)
			break
		}
	}
	return true
}

// ask begins to list a namespace.
func (s *stream) ask(ctx context.Context, namespace string) {
	s.joining = &joining{namespace: namespace}
	j := *s.joining
	go func() {
		j.objects, j.at, j.err = s.within(ctx, namespace)
		s.lists <- &j
	}()
}

// join delivers what a namespace holds, and the events after its list. A bookmark ends it, so that the watch never goes
// on from the resourceVersion of one of the objects.
func (s *stream) join(ctx context.Context, listed *joining) bool {
	events := s.joining.events
	s.joining, s.check = nil, true
	if listed.err != nil {
		glog.Warningf("cannot add namespace %s to the caches, trying again in %s: %v", listed.namespace, s.pause, listed.err)
		s.again, s.pause = time.After(s.pause), min(2*s.pause, lastPause)
		return true
	}
	s.pause = firstPause
	for _, o := range listed.objects {
		if !s.deliver(ctx, watch.Event{Type: watch.Added, Object: o}) {
			return false
		}
	}
	for _, e := range events {
		if o, is := e.Object.(client.Object); is && after(o.GetResourceVersion(), listed.at) && !s.deliver(ctx, e) {
			return false
		}
	}
	if !s.stored(ctx) {
		return false
	}
	s.filter.join(listed.namespace, listed.at)
	return true
}

// part deletes the objects of a namespace from the store.
func (s *stream) part(ctx context.Context, namespace string) bool {
	s.leave(namespace)
	if !s.stored(ctx) {
		return false
	}
	held, err := s.store.ByIndex(toolscache.NamespaceIndex, namespace)
	if err != nil {
		glog.Errorf("cannot find %T in namespace %s, whose objects stay in the cache: %v", s.of, namespace, err)
	}
	for _, o := range held {
		if o, is := o.(runtime.Object); is && !s.deliver(ctx, watch.Event{Type: watch.Deleted, Object: o}) {
			return false
		}
	}
	return s.deliver(ctx, s.bookmark(s.position))
}

// stored waits until the store has all that was delivered. It delivers a bookmark that is like no other, waits until the
// store shows its resourceVersion, and delivers another with that of the watch.
func (s *stream) stored(ctx context.Context) bool {
	s.barriers++
	unlike := fmt.Sprintf("%s-%d", s.position, s.barriers)
	if !s.deliver(ctx, s.bookmark(unlike)) {
		return false
	}
	err := wait.PollUntilContextCancel(ctx, storedEvery, true, func(context.Context) (bool, error) {
		return s.store.LastStoreSyncResourceVersion() == unlike, nil
	})
	return err == nil && s.deliver(ctx, s.bookmark(s.position))
}

func (s *stream) bookmark(version string) watch.Event {
	o, is := s.of.DeepCopyObject().(client.Object)
	if is {
		o.SetResourceVersion(version)
	}
	return watch.Event{Type: watch.Bookmark, Object: o}
}

func (s *stream) deliver(ctx context.Context, e watch.Event) bool {
	select {
	case s.out <- e:
		return true
	case <-ctx.Done():
		return false
	}
}

// after reports whether a resourceVersion is later than another.
func after(version, at string) bool {
	order, err := resourceversion.CompareResourceVersion(version, at)
	return err != nil || order > 0
}
