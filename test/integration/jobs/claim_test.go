package jobs

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
)

// fullStore is a store that takes in nothing while it is full.
type fullStore struct {
	blob.Store

	full *atomic.Bool
}

// Put implements blob.Store.
func (s fullStore) Put(ctx context.Context, key blob.Key, content io.ReadSeeker) error {
	if s.full.Load() {
		return errors.New("no space left on device")
	}
	return s.Store.Put(ctx, key, content)
}

// A claim that the store does not take in shows in the JobRun, whose program waits, and starts once it does.
func TestClaimIsRefused(t *testing.T) {
	t.Parallel()
	full := &atomic.Bool{}
	full.Store(true)
	w := newWorldWith(t, func(folder blob.Store) blob.Store { return fullStore{folder, full} }, count)
	w.run("one")
	w.reaches("one", "Stalled CannotStart: its program has not started: cannot claim the run: ")
	assert.Contains(t, shown(w.get("one").Status.Conditions), "no space left on device")
	assert.Empty(t, w.out("one"), "its program has not started")
	full.Store(false)
	w.reaches("one", "Ready Succeeded: it succeeded; its state is committed")
	assert.Equal(t, 1, strings.Count(w.out("one"), "line"))
}
