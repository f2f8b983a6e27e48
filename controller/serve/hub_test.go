package serve

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// RELATIONS.md V3: a change is announced at least once, and the last one always
// arrives: who sleeps on a bell after it looked misses nothing.
func TestNoWakeUpIsLost(t *testing.T) {
	var h hub
	var state atomic.Int64
	const last = 2000
	var waiters sync.WaitGroup
	for range 8 {
		b := newBell()
		_, leave := h.join(applicationTopic("shop", "blog"), b)
		waiters.Go(func() {
			defer leave()
			for state.Load() < last {
				select {
				case <-b.rung:
				case <-time.After(10 * time.Second):
					t.Error("a wake-up was lost")
					return
				}
			}
		})
	}
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for state.Add(1) <= last {
				h.changed(applicationTopic("shop", "blog"))
			}
			h.changed(applicationTopic("shop", "blog"))
		})
	}
	writers.Wait()
	waiters.Wait()
	assert.Empty(t, h.audiences, "nothing is left when all have gone")
}

func TestBellsRingForTheirTopicAlone(t *testing.T) {
	var h hub
	mine, other := newBell(), newBell()
	_, leave := h.join(applicationTopic("shop", "blog"), mine)
	_, leaveOther := h.join(applicationTopic("shop", "db"), other)
	h.changed(applicationTopic("shop", "blog"))
	h.changed(podTopic("shop", "blog"))
	assert.Len(t, mine.rung, 1)
	assert.Empty(t, other.rung)
	leave()
	leaveOther()
	h.changed(applicationTopic("shop", "blog"))
	assert.Empty(t, h.audiences)
}

// Streams come and go while things change.
func TestJoinAndLeaveUnderChange(t *testing.T) {
	r := newReplica()
	r.pod("blog-1")
	r.publish("one", 10)
	stop := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		for i := uint64(11); ; i++ {
			select {
			case <-stop:
				return
			default:
				r.publish("x", i)
			}
		}
	})
	for range 8 {
		group.Go(func() {
			for range 200 {
				b := newBell()
				a, leave := r.server.hub.join(applicationTopic("shop", "blog"), b)
				told, err := a.get(t.Context(), r, "shop", "blog", map[string]uint64{"databags": 10})
				assert.NoError(t, err)
				assert.NotNil(t, told)
				leave()
			}
		})
	}
	ended := make(chan struct{})
	go func() { group.Wait(); close(ended) }()
	time.AfterFunc(200*time.Millisecond, func() { close(stop) })
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		require.Fail(t, "stuck")
	}
	assert.Empty(t, r.server.hub.audiences)
}

// Calls without a stream do not have their application's view made each time, and see each change.
func TestViewsAreMadeOnceForACallerWithoutStream(t *testing.T) {
	r := readyReplica()
	r.server.Secrets = &safe{}
	server := serveTLS(t, r)
	read, looked := tenant(t, server, "token-blog-1"), r.looked()
	for range 100 {
		require.NoError(t, read())
	}
	assert.LessOrEqual(t, r.looked()-looked, 1, "views")
	r.publish("two", 11)
	_, answer := get(t, server, "Bearer token-blog-1")
	assert.Contains(t, fmt.Sprint(answer), "two")
}

// An audience that rests is forgotten after a while.
func TestAudiencesRest(t *testing.T) {
	inBubble(t, func(s scene) {
		ended := converse(s.ctx, s.r, s.a, "token-blog-1", nil)
		synctest.Wait()
		close(s.a.requests)
		require.NoError(s.t, <-ended)
		assertNobodyListens(s.t, s.r)
		assert.Len(s.t, s.r.server.hub.resting, 1)
		pass(restFor)
		synctest.Wait()
		assert.Empty(s.t, s.r.server.hub.resting)
	})
}
