package keeper_test

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"

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

// JOBS.md J9: a state that cannot be stored is stored later, and renewals tell why it is not.
func TestStoreIsFull(t *testing.T) {
	b := newBench(t, `echo x > $STATE/x`)
	m, full := &model{next: hold()}, &atomic.Bool{}
	full.Store(true)
	code, err := b.run(t, m, fullStore{b.store(t), full}, func(*child, func()) {
		until(t, "it waits", func() bool {
			return look(m, func() bool { return m.waits == "cannot store the state: no space left on device" })
		})
		assert.Empty(t, m.ends)
		full.Store(false)
	})
	require.NoError(t, err)
	assert.Zero(t, code)
	assert.Equal(t, job.Committed, only(t, m).Outcome)
}
