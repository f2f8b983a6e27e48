package serve

import (
	"sync"
	"sync/atomic"
	"testing"
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
