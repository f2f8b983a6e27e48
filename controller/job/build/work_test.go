package build

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
)

// named returns the name of a template.
func named(n int) types.NamespacedName {
	return types.NamespacedName{Namespace: "shop", Name: fmt.Sprint("t", n)}
}

// shop is what builds report to.
type shop struct {
	*works

	now  time.Time
	done chan types.NamespacedName
}

func newShop() *shop {
	s := &shop{now: time.Unix(1_000_000, 0), done: make(chan types.NamespacedName, 100)}
	s.works = newWorks(func() time.Time { return s.now }, func(name types.NamespacedName) { s.done <- name })
	return s
}

// hourly has each build repeated after an hour, never has none repeated.
func hourly(error) time.Duration { return time.Hour }

func never(error) time.Duration { return 0 }

// Two builds are under way at once; the others wait for their places, and each is reported.
func TestPlaces(t *testing.T) {
	s := newShop()
	begun, held := make(chan int, 10), make(chan struct{})
	for n := range 5 {
		_, ended := s.look(named(n), "input", never, func(context.Context) (made, error) {
			begun <- n
			<-held
			return made{version: fmt.Sprint("v", n)}, nil
		})
		assert.False(t, ended)
	}
	<-begun
	<-begun
	assert.Empty(t, begun, "the others wait")
	close(held)
	for range 5 {
		<-s.done
	}
	for n := range 5 {
		last, ended := s.look(named(n), "input", never, nil)
		assert.True(t, ended)
		assert.Equal(t, fmt.Sprint("v", n), last.version)
	}
}

// TRUST.md U6: a namespace with many builds keeps out no other one: that has the next place.
func TestPlacesAreShared(t *testing.T) {
	s := newShop()
	begun, held := make(chan string, 30), make(chan struct{})
	build := func(namespace string, n int) {
		s.look(types.NamespacedName{Namespace: namespace, Name: fmt.Sprint("t", n)}, "input", never, func(context.Context) (made, error) {
			begun <- namespace
			<-held
			return made{}, nil
		})
	}
	for n := range 20 {
		build("evil", n)
	}
	<-begun
	<-begun
	require.Eventually(t, func() bool { // the others wait
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.waiting) == 18
	}, 10*time.Second, time.Millisecond)
	build("shop", 1)
	require.Eventually(t, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.waiting) == 19
	}, 10*time.Second, time.Millisecond)
	held <- struct{}{}
	assert.Equal(t, "shop", <-begun)
	close(held)
	for range 21 {
		<-s.done
	}
}

// A result counts for its input only, and not after its time.
func TestResults(t *testing.T) {
	s := newShop()
	count := 0
	do := func(context.Context) (made, error) {
		count++
		return made{version: fmt.Sprint("v", count)}, errors.New("always")
	}
	for _, step := range []struct {
		why, input string
		again      func(error) time.Duration
		after      time.Duration
		ended      bool
		count      int
	}{
		{"nothing was built", "a", hourly, 0, false, 1},
		{"it counts", "a", hourly, time.Hour - time.Second, true, 1},
		{"its time has passed", "a", hourly, time.Second, false, 2},
		{"it counts for ever", "a", never, 24 * time.Hour, true, 2},
		{"another input", "b", never, 0, false, 3},
		{"the one before is forgotten", "a", never, 0, false, 4},
	} {
		s.now = s.now.Add(step.after)
		last, ended := s.look(named(0), step.input, step.again, do)
		require.Equal(t, step.ended, ended, step.why)
		if !ended {
			<-s.done
			last, ended = s.look(named(0), step.input, never, nil)
			require.True(t, ended, step.why)
		}
		assert.Equal(t, step.count, count, step.why)
		assert.Equal(t, fmt.Sprint("v", step.count), last.version, step.why)
		assert.ErrorContains(t, last.err, "always", step.why)
	}
	s.forget(named(0))
	s.forget(named(1))
	assert.Empty(t, s.all)
}

// A build whose input has changed is stopped, also while it waits for a place, and reports nothing.
func TestReplaced(t *testing.T) {
	s := newShop()
	stopped := make(chan error, 2)
	wait := func(ctx context.Context) (made, error) {
		<-ctx.Done()
		stopped <- context.Cause(ctx)
		return made{}, context.Cause(ctx)
	}
	s.look(named(0), "a", never, wait)
	s.look(named(0), "b", never, func(context.Context) (made, error) { return made{version: "b"}, nil })
	<-s.done
	last, ended := s.look(named(0), "b", never, nil)
	assert.True(t, ended)
	assert.Equal(t, "b", last.version)
	assert.Empty(t, s.done)
}

// Only the templates of a type, and only those that are built, are looked at when it changes.
func TestRequests(t *testing.T) {
	w := newWorld(t)
	other := child()
	other.Name, other.Spec.Build.Type, other.UID = "other", "script", "other"
	require.NoError(t, w.Client.Create(t.Context(), other))
	require.NoError(t, w.Client.Create(t.Context(), &v1alpha1.JobTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "plain"}}))
	assert.Len(t, w.ofType(t.Context(), kind()), 1)
	version := &v1alpha1.JobTemplateVersion{}
	version.Namespace, version.Labels = "shop", map[string]string{v1alpha1.LabelTemplate: "web"}
	assert.Equal(t, web(), ofVersion(t.Context(), version)[0])
	assert.Empty(t, ofWorkspace(t.Context(), other))
}
