package views

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// stored is an API server whose answers are those of reads, in order.
type stored struct {
	client.Reader

	reads []read
}

type read struct {
	revision string
	err      error
}

// List implements client.Reader. The five lists of one comparison have one answer.
func (s *stored) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	now := s.reads[0]
	if s.reads = s.reads[1:]; now.err == nil {
		list.SetResourceVersion(now.revision)
	}
	return now.err
}

// A replica begins anew once the store is at an earlier revision than its caches, and not before: neither for the same
// revision nor for a store that cannot be read (TRUST.md T6).
func TestGuard(t *testing.T) {
	v := &Views{}
	v.count("databags", &toolscache.FakeCustomStore{LastStoreSyncResourceVersionFunc: func() string { return "20" }})
	five := func(r read) []read { return []read{r, r, r, r, r} }
	api := &stored{reads: append(five(read{revision: "20"}), read{err: errors.New("away")})}
	api.reads = append(api.reads, five(read{revision: "19"})...)
	watches := make(chan struct{})
	done := make(chan error)
	go func() { done <- v.Guard(t.Context(), StoreRevisions{api}, watches) }()
	for range 3 {
		watches <- struct{}{}
	}
	require.ErrorIs(t, <-done, ErrWentBack)
	require.Empty(t, api.reads)
}

func TestGuardEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, (&Views{}).Guard(ctx, StoreRevisions{&stored{}}, nil))
}

// A replica compares with the store every 10 s, also while no watch begins: a restore need not end one (TRUST.md T6).
func TestGuardLooksByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &Views{}
		v.count("databags", &toolscache.FakeCustomStore{LastStoreSyncResourceVersionFunc: func() string { return "20" }})
		now, earlier := read{revision: "20"}, read{revision: "19"}
		api := &stored{reads: []read{now, now, now, now, now, earlier, earlier, earlier, earlier, earlier}}
		began := time.Now()
		require.ErrorIs(t, v.Guard(t.Context(), StoreRevisions{api}, nil), ErrWentBack)
		require.Equal(t, 20*time.Second, time.Since(began))
	})
}
