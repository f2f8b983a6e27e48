package serve

import (
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// TRUST.md A7: a stream ends at its age, however much is sent on it, and its agent is told to connect again; what
// changed meanwhile is in the first snapshot of the next stream.
func TestStreamEndsAtItsAge(t *testing.T) {
	inBubble(t, func(s scene) {
		t, ctx, r, a := s.t, s.ctx, s.r, s.a
		began := time.Now()
		ended := converse(ctx, r, a, "token-blog-1", nil)
		for range 15 {
			pass(time.Minute)
			require.Empty(t, ended, "it has half of the greatest age at least")
			r.publish("busy", 11)
		}
		select {
		case err := <-ended:
			assert.Equal(t, connect.CodeUnavailable, connect.CodeOf(err), "an agent of any version connects again at once")
			assert.ErrorContains(t, err, "connect again")
			assert.LessOrEqual(t, time.Since(began), 30*time.Minute)
		case <-time.After(40 * time.Minute):
			require.Fail(t, "the stream never ends")
		}
		assertNobodyListens(t, r)

		r.publish("meanwhile", 12)
		next := newAgent()
		converse(ctx, r, next, "token-blog-1", a.last().GetRevisions())
		synctest.Wait()
		assert.Equal(t, []string{"meanwhile"}, next.hosts())
	})
}

// refusals returns what the metric of refused streams counts.
func refusals(t *testing.T) float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == "orcon_agent_streams_refused_total" {
			return f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	require.Fail(t, "no metric counts refused streams")
	return 0
}

// TRUST.md A7: a replica has a greatest number of streams. Beyond it a stream is refused, and counted, but a namespace
// with few streams has one of the namespace with the most.
func TestStreamsOfAReplicaAreBounded(t *testing.T) {
	inBubble(t, func(s scene) {
		t, ctx, r := s.t, s.ctx, s.r
		before := refusals(t)
		open := make([]<-chan error, maxStreams)
		for i := range open {
			open[i] = converse(ctx, r, newAgent(), "token-blog-1", nil)
			synctest.Wait()
		}
		for _, ended := range open {
			require.Empty(t, ended)
		}
		err := <-converse(ctx, r, newAgent(), "token-blog-1", nil)
		assert.Equal(t, connect.CodeResourceExhausted, connect.CodeOf(err))
		require.ErrorContains(t, err, "this replica has as many streams as it may, 2048 by default: try again later")
		assert.InDelta(t, before+1, refusals(t), 0)

		_, leave, err := r.server.Streams.enter("library")
		require.NoError(t, err)
		assert.Equal(t, connect.CodeResourceExhausted, connect.CodeOf(<-open[0]), "the namespace with the most gives one up")
		assert.InDelta(t, before+2, refusals(t), 0)
		leave()
		next := converse(ctx, r, newAgent(), "token-blog-1", nil)
		synctest.Wait()
		assert.Empty(t, next, "a place that is left is free")
	})
}

// TRUST.md A7: a connection serves one stream, since a second one would reach the same replica again.
func TestStreamHasAConnectionOfItsOwn(t *testing.T) {
	r := readyReplica()
	server := serveTLS(t, r)
	next := server.Config.Handler
	var mu sync.Mutex
	var from []string
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		from = append(from, r.RemoteAddr)
		mu.Unlock()
		next.ServeHTTP(w, r)
	})
	for range 3 {
		s := dial(t, server)
		hello(t, s, "token-blog-1", nil)
		_, err := s.Receive()
		require.NoError(t, err)
		require.NoError(t, s.CloseRequest())
		_, err = s.Receive()
		require.Error(t, err)
	}
	s := dial(t, server)
	hello(t, s, "garbage", nil)
	_, err := s.Receive()
	require.Error(t, err)
	_, _ = get(t, server, "Bearer token-blog-1")
	slices.Sort(from)
	assert.Len(t, slices.Compact(from), 5, "also after a refusal")
}
