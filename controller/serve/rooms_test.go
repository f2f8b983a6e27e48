package serve

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1/relationsv1alpha1connect"
)

// TRUST.md U2: the pods of a namespace read few secrets at once, since each read takes memory; the others wait. A pod
// of another namespace does not.
func TestSecretsAreReadByFewAtOnce(t *testing.T) {
	r, store := readyReplica(), &safe{hold: make(chan struct{})}
	r.server.Secrets, r.server.Now = store, time.Now
	r.inhabit("library", "novel-1")
	const pods = 16
	server := serveTLS(t, r)
	proven := func(pod string) func() error {
		read := tenant(t, server, "token-"+pod)
		require.NoError(t, read(), "a connection has one request until it is proven which pod calls")
		return read
	}
	greedy, busy := proven("blog-1"), make([]func() error, pods)
	for n := range busy {
		name := fmt.Sprint("busy-", n)
		r.inhabit("shop", name)
		busy[n] = proven(name)
	}
	store.held.Store("shop")
	before := store.reads.Load()
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() { assert.NoError(t, greedy()) })
	}
	<-time.After(500 * time.Millisecond)
	assert.LessOrEqual(t, store.atOnce.Load(), int64(maxSecretReads/4), "one pod leaves room for others")
	for _, read := range busy {
		for range 4 {
			all.Go(func() { assert.NoError(t, read()) })
		}
	}
	require.Eventually(t, func() bool { return store.atOnce.Load() >= maxSecretReads }, 10*time.Second, 10*time.Millisecond)
	<-time.After(500 * time.Millisecond) // for more to come, if they may
	require.NoError(t, tenant(t, server, "token-novel-1")(), "a neighbour")
	close(store.hold)
	all.Wait()
	t.Logf("%d requests of %d pods: %d at once", store.reads.Load()-before-1, pods, store.mostAtOnce.Load())
	assert.LessOrEqual(t, store.mostAtOnce.Load(), int64(maxSecretReads))
	assert.EqualValues(t, 12+pods*4+1, store.reads.Load()-before, "each has its turn")
}

// deaf opens a stream that receives nothing beyond a small buffer, and accepts no compression.
func deaf(t *testing.T, s *httptest.Server) *stream {
	t.Helper()
	transport := s.Client().Transport.(*http.Transport).Clone() //nolint:forcetypeassert // httptest's
	transport.HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: 64 << 10, MaxReceiveBufferPerConnection: 64 << 10}
	ctx, cancel := context.WithCancel(t.Context())
	opened := relationsv1alpha1connect.NewRelationsServiceClient(&http.Client{Transport: transport}, s.URL,
		connect.WithAcceptCompression("gzip", nil, nil)).Converse(ctx)
	t.Cleanup(func() {
		cancel()
		transport.CloseIdleConnections()
	})
	return opened
}

// living returns the bytes that are in use.
func living() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// TRUST.md U2: a pod whose streams receive nothing makes the replica keep few of its messages, and the streams end.
// SAFETY.md S4: they outlast neither their pod nor their token by more than that.
func TestStreamsThatReceiveNothingEnd(t *testing.T) {
	r := readyReplica()
	r.set(func() { r.views["blog"] = neighbours(28, "one") })
	server := serveTLS(t, r)
	before := living()
	const streams = 14
	for range streams {
		hello(t, deaf(t, server), "token-blog-1", nil)
	}
	<-time.After(2 * time.Second) // what is sent is in memory by then
	took := living() - before
	t.Logf("%d streams of one pod that receive nothing take %d MiB", streams, took>>20)
	assert.Less(t, took, 64<<20)
	r.set(func() { delete(r.pods, "blog-1") })
	require.Eventually(t, func() bool {
		r.server.hub.mu.Lock()
		defer r.server.hub.mu.Unlock()
		return len(r.server.hub.audiences) == 0
	}, 3*takenWithin, 100*time.Millisecond, "streams outlast their pod")
}

// TRUST.md U2: a snapshot that no agent accepts as one message is not made as one.
func TestGetIsBounded(t *testing.T) {
	r := readyReplica()
	r.set(func() { r.views["blog"] = neighbours(40, "one") })
	code, answer := get(t, serveTLS(t, r), "Bearer token-blog-1")
	assert.NotEqual(t, http.StatusOK, code)
	assert.Contains(t, answer["message"], "more than the 16777216")
}
