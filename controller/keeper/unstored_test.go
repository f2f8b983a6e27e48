package keeper_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
)

// fullStore stores nothing while it is full.
type fullStore struct {
	keeper.Blobs

	full *atomic.Bool
}

func (s fullStore) Put(ctx context.Context, key blob.Key, content io.ReadSeeker) error {
	if s.full.Load() {
		return errors.New("no space left on device")
	}
	return s.Blobs.Put(ctx, key, content)
}

// deniedStore has nothing that can be read, and takes in nothing, while it is denied.
type deniedStore struct {
	keeper.Blobs

	denied *atomic.Bool
}

func (s deniedStore) Get(ctx context.Context, key blob.Key) (io.ReadCloser, error) {
	if s.denied.Load() {
		return nil, errors.New("access denied")
	}
	return s.Blobs.Get(ctx, key)
}

func (s deniedStore) Put(ctx context.Context, key blob.Key, content io.ReadSeeker) error {
	return fullStore{s.Blobs, s.denied}.Put(ctx, key, content)
}

// Renewals tell what a keeper has to try again before its program starts, and while it runs.
func TestDelays(t *testing.T) {
	b := newBench(t, `echo x > $STATE/x; while ! test -e $BASE/go; do sleep 0.02; done`)
	b.Checkpoint = 20 * time.Millisecond
	m, denied, store := &model{next: hold()}, &atomic.Bool{}, b.store(t)
	m.next.Base = seed(t, store, "y", "y")
	denied.Store(true)
	tells := func(want job.Delay) {
		until(t, want.Why, func() bool { return look(m, func() bool { return m.delay == want }) })
	}
	_, err := b.run(t, m, deniedStore{store, denied}, func(*child, func()) {
		tells(job.Delay{Stage: job.Preparing, Why: "cannot fetch the state: access denied"})
		assert.False(t, b.there("exchange/started"))
		denied.Store(false)
		tells(job.Delay{Stage: job.Carrying})
		denied.Store(true)
		require.NoError(t, os.WriteFile(filepath.Join(b.path("state"), "more"), nil, 0o600))
		tells(job.Delay{Stage: job.Carrying, Why: "cannot store a checkpoint: no space left on device"})
		denied.Store(false)
		tells(job.Delay{Stage: job.Carrying})
		require.NoError(t, os.WriteFile(b.path("go"), nil, 0o600))
	})
	require.NoError(t, err)
	assert.Equal(t, job.Committed, only(t, m).Outcome)
}

// JOBS.md J9: a state that cannot be stored is stored later, and renewals tell why it is not.
func TestStoreIsFull(t *testing.T) {
	b := newBench(t, `echo x > $STATE/x`)
	m, full := &model{next: hold()}, &atomic.Bool{}
	full.Store(true)
	code, err := b.run(t, m, fullStore{b.store(t), full}, func(*child, func()) {
		until(t, "it waits", func() bool {
			return look(m, func() bool { return m.delay == job.Delay{Why: "cannot store the state: no space left on device"} })
		})
		assert.Empty(t, m.ends)
		full.Store(false)
	})
	require.NoError(t, err)
	assert.Zero(t, code)
	assert.Equal(t, job.Committed, only(t, m).Outcome)
}
