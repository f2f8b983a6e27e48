package scope

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
)

// story is a bench in a bubble. The list of a namespace that joins waits until it is let go.
type story struct {
	*bench

	t       *testing.T
	release chan struct{}

	mu sync.Mutex
	// events are what handlers received.
	events []string
}

// tell runs a story whose namespace a has a pod x.
func tell(t *testing.T, streams bool, told func(s *story)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &story{bench: newBench(newPods()), t: t, release: make(chan struct{})}
		s.server.streams = streams
		s.server.write(watch.Added, "a/x", false)
		s.filter.within = func(ctx context.Context, namespace string) ([]runtime.Object, string, error) {
			all, at, err := s.server.within(ctx, namespace)
			select {
			case <-s.release:
			case <-ctx.Done():
			}
			return all, at, err
		}
		_, _ = s.informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { s.note("added", o) },
			UpdateFunc: func(_, o any) { s.note("updated", o) },
			DeleteFunc: func(o any) { s.note("deleted", o) },
		})
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { s.informer.RunWithContext(ctx) })
		synctest.Wait()
		told(s)
		stop()
		running.Wait()
	})
}

func (s *story) note(what string, o any) {
	p, is := o.(*corev1.Pod)
	if !is {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, what+" "+p.Name+" "+p.ResourceVersion)
}

// passes lets time pass.
func (s *story) passes(d time.Duration) {
	linger(s.t.Context(), d)
	synctest.Wait()
}

// sees waits until nothing happens, and compares what the store has and what handlers received since.
func (s *story) sees(why string, has bool, held map[string]string, events ...string) {
	s.t.Helper()
	s.passes(100 * time.Millisecond)
	s.mu.Lock()
	defer s.mu.Unlock()
	_, complete := s.filter.has("a")
	assert.Equal(s.t, has, complete, why)
	assert.Equal(s.t, held, s.held("a"), why)
	assert.Equal(s.t, events, s.events, why)
	s.events = nil
}

// lag sets how long an event takes.
func (s *story) lag(d time.Duration) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.server.lag = d
}

// from returns where the last watch went on.
func (s *story) from() string {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	return s.server.watches[len(s.server.watches)-1]
}

type pairs = map[string]string

// A namespace that joins has what its list shows and what happened since, more events than may wait included. A watch
// that breaks later goes on from its own position.
func TestJoinHasWhatHappensMeanwhile(t *testing.T) {
	tell(t, true, func(s *story) {
		s.opt("a", true)
		s.passes(time.Second)
		s.server.write(watch.Added, "a/y", false)
		s.server.write(watch.Deleted, "a/x", false)
		for range mostHeld {
			s.server.write(watch.Added, "b/z", false)
			s.server.write(watch.Added, "a/y", false)
		}
		s.sees("its list is under way", false, pairs{})
		close(s.release)
		s.passes(time.Second)
		s.mu.Lock()
		s.events = nil
		s.mu.Unlock()
		s.sees("it has joined", true, pairs{"a/y": "2098"})
		s.server.cut("break")
		s.server.write(watch.Added, "a/z", false)
		s.sees("the watch breaks", true, pairs{"a/y": "2098", "a/z": "2099"}, "added z 2099")
		assert.Equal(t, "2098", s.from())
	})
}

// Events that are older than the list of a namespace change nothing, deletions neither (TRUST.md U7).
func TestJoinSupersedesEarlierEvents(t *testing.T) {
	tell(t, true, func(s *story) {
		s.lag(time.Minute)
		s.server.write(watch.Deleted, "a/x", false)
		s.server.write(watch.Added, "a/x", false)
		s.opt("a", true)
		close(s.release)
		s.sees("the list is ahead of the watch", true, pairs{"a/x": "98"}, "added x 98")
		s.passes(75 * time.Second)
		s.sees("the deletion arrives", true, pairs{"a/x": "98"})
		s.server.write(watch.Added, "a/x", false)
		s.passes(10 * time.Minute)
		s.sees("the watch has passed the list", true, pairs{"a/x": "99"}, "updated x 99")
	})
}

// Events that arrive while the list is under way, and are older, change nothing either.
func TestJoinSupersedesEventsMeanwhile(t *testing.T) {
	tell(t, true, func(s *story) {
		s.lag(time.Minute)
		s.server.write(watch.Deleted, "a/x", false)
		s.server.write(watch.Added, "a/x", false)
		s.opt("a", true)
		s.passes(75 * time.Second)
		s.sees("the deletion has arrived, and waits", false, pairs{})
		close(s.release)
		s.sees("the list is ahead of the watch", true, pairs{"a/x": "98"}, "added x 98")
		s.passes(10 * time.Minute)
		s.sees("the watch has passed the list", true, pairs{"a/x": "98"})
	})
}

// A later list of all namespaces is not older than a join.
func TestListIsNotOlderThanJoins(t *testing.T) {
	for name, streams := range map[string]bool{"Lists": false, "Streams": true} {
		t.Run(name, func(t *testing.T) {
			tell(t, streams, func(s *story) {
				s.lag(time.Hour)
				s.server.write(watch.Deleted, "a/x", false)
				s.server.write(watch.Added, "a/x", false)
				s.opt("a", true)
				close(s.release)
				s.sees("the list is ahead of the watch", true, pairs{"a/x": "98"}, "added x 98")
				s.lag(0)
				s.server.cut("gone")
				s.passes(2 * time.Hour)
				s.sees("it does not go back in time", true, pairs{"a/x": "98"}, "updated x 98")
				is, _ := s.filter.joined("a")
				assert.Empty(t, is.at, "a store that was restored may have lower revisions")
			})
		})
	}
}

// A namespace that leaves is deleted from the store, and joins again by another list.
func TestLeave(t *testing.T) {
	tell(t, false, func(s *story) {
		close(s.release)
		s.opt("a", true)
		s.sees("it joins", true, pairs{"a/x": "96"}, "added x 96")
		first, _ := s.filter.has("a")
		s.server.write(watch.Added, "b/z", false)
		s.opt("a", false)
		s.sees("it leaves", false, pairs{}, "deleted x 96")
		s.server.cut("break")
		s.server.write(watch.Added, "a/y", false)
		s.sees("what is new there is nothing", false, pairs{})
		assert.Equal(t, "97", s.from(), "not from the revision of what was deleted")
		s.opt("a", true)
		s.sees("it joins again", true, pairs{"a/x": "96", "a/y": "98"}, "added x 96", "added y 98")
		again, _ := s.filter.has("a")
		assert.NotEqual(t, first, again)
	})
}

// A namespace takes the state of the moment in which its list succeeds.
func TestJoinIsTriedAgain(t *testing.T) {
	tell(t, true, func(s *story) {
		close(s.release)
		s.server.mu.Lock()
		s.server.failing = 3
		s.server.mu.Unlock()
		s.opt("a", true)
		s.sees("its list fails", false, pairs{})
		s.server.write(watch.Added, "a/y", false)
		s.passes(firstPause + 2*firstPause + 4*firstPause + time.Millisecond)
		s.sees("it joins", true, pairs{"a/x": "96", "a/y": "97"}, "added x 96", "added y 97")
	})
}

// A pod with an agent makes its namespace participate, wherever a list or a watch shows it; the last that goes ends that.
func TestAgentsMakeNamespacesParticipate(t *testing.T) {
	for name, streams := range map[string]bool{"Lists": false, "Streams": true} {
		t.Run(name, func(t *testing.T) {
			tell(t, streams, func(s *story) {
				close(s.release)
				s.server.write(watch.Added, "a/web", true)
				s.sees("it is created", true, pairs{"a/x": "96", "a/web": "97"}, "added web 97", "added x 96")
				s.server.cut("expire")
				s.passes(time.Minute)
				s.sees("all is listed again", true, pairs{"a/x": "96", "a/web": "97"})
				s.server.write(watch.Deleted, "a/web", false)
				s.sees("it is deleted", false, pairs{}, "deleted web 98", "deleted x 96")
			})
		})
	}
}
