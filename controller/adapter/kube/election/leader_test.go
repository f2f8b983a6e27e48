package election

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// store is an API server with one Lease, which refuses an update of an older revision.
type store struct {
	mu       sync.Mutex
	record   resourcelock.LeaderElectionRecord
	revision int
}

// set writes the holder as another process does.
func (s *store) set(holder string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record = resourcelock.LeaderElectionRecord{HolderIdentity: holder, LeaseDurationSeconds: 3600}
	s.revision++
}

func (s *store) holder() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record.HolderIdentity
}

// leaseOf is the Lease as one process reads and writes it.
type leaseOf struct {
	*store

	identity string
	read     int
}

func (l *leaseOf) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.revision == 0 {
		return nil, nil, apierrors.NewNotFound(schema.GroupResource{}, "lease")
	}
	l.read = l.revision
	record := l.record
	raw, err := json.Marshal(record)
	return &record, raw, err
}

func (l *leaseOf) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.Update(ctx, record)
}

func (l *leaseOf) Update(_ context.Context, record resourcelock.LeaderElectionRecord) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.read != l.revision {
		return apierrors.NewConflict(schema.GroupResource{}, "lease", errors.New("it has been modified"))
	}
	l.revision++
	l.record, l.read = record, l.revision
	return nil
}

func (l *leaseOf) RecordEvent(string) {}
func (l *leaseOf) Identity() string   { return l.identity }
func (l *leaseOf) Describe() string   { return "lease" }

// candidate is a replica that runs until it is stopped.
type candidate struct {
	began, ended chan struct{}
	// holder is that of the Lease when the loop ends.
	holder string
	stop   func() error
}

// run runs a candidate. If err is set, its loop fails with it instead of waiting.
func run(t *testing.T, s *store, identity string, err error) *candidate {
	t.Helper()
	c := &candidate{began: make(chan struct{}, 10), ended: make(chan struct{}, 10)}
	l := &Leader{
		Lease: &leaseOf{store: s, identity: identity}, Name: "controller",
		Periods: Periods{Lease: time.Hour, Renew: time.Minute, Retry: time.Millisecond},
		Loop: func(ctx context.Context) error {
			c.began <- struct{}{}
			if err == nil {
				<-ctx.Done()
			}
			c.holder = s.holder()
			c.ended <- struct{}{}
			return err
		},
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Start(ctx) }()
	c.stop = func() error { cancel(); return <-done }
	return c
}

// soon waits for what comes about long before a Lease can be renewed no longer, or expires.
func soon(t *testing.T, c <-chan struct{}, why string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(30 * time.Second):
		require.Fail(t, why)
	}
}

// A leader that ends gives the Lease up after its loop has ended.
func TestLeaderEnds(t *testing.T) {
	s := &store{}
	first := run(t, s, "pod_first_", nil)
	<-first.began
	second := run(t, s, "pod_second_", nil)
	require.NoError(t, first.stop())
	<-first.ended
	assert.Equal(t, "pod_first_", first.holder, "no other replica leads before the loop has ended")
	<-second.began
	require.NoError(t, second.stop())
	assert.Empty(t, s.holder())
}

// A leader that was killed is replaced long before its Lease expires (TRUST.md A2).
func TestLeaderIsKilled(t *testing.T) {
	server, holder := serve(t, listen(t, "127.0.0.1:0"), "first")
	asked, answer := make(chan struct{}, 1), server.Config.Handler
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer.ServeHTTP(w, r)
		select {
		case asked <- struct{}{}:
		default:
		}
	})
	s := &store{}
	s.set(holder)
	second := run(t, s, "pod_second_", nil)
	for range 3 { // the first answer has been received
		soon(t, asked, "the holder is not asked whether it has ended")
	}
	server.Close()
	soon(t, second.began, "the Lease of a holder that has ended is not free")
	require.NoError(t, second.stop())
}

// A leader whose Lease another replica has got ends its loop at once, and leads again when it can (TRUST.md A2).
func TestLeaderIsDeposed(t *testing.T) {
	s := &store{}
	first := run(t, s, "pod_first_", nil)
	<-first.began
	s.set("pod_other_")
	soon(t, first.ended, "the loop goes on until its Lease can be renewed no longer")
	assert.Equal(t, "pod_other_", first.holder)
	s.set("")
	<-first.began
	require.NoError(t, first.stop())
}

// The failure of a loop is that of the process.
func TestLoopFails(t *testing.T) {
	failed := errors.New("no certificate to trust")
	c := run(t, &store{}, "pod_first_", failed)
	<-c.ended
	require.ErrorIs(t, c.stop(), failed)
}
