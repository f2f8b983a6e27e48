package kube

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Whoever met another writer waits for its turn: one at a time, whoever gives up
// holds nobody back, and nothing is kept of a line that is empty.
func TestTurns(t *testing.T) {
	c := &Commits{Turns: &Turns{}}
	end, err := c.Turns.take(t.Context(), "a")
	require.NoError(t, err)
	given, giveUp := context.WithCancel(t.Context())
	giveUp()
	_, err = c.Turns.take(given, "a")
	require.ErrorIs(t, err, context.Canceled)
	elsewhere, err := c.Turns.take(t.Context(), "b")
	require.NoError(t, err, "another name is another line")
	elsewhere()

	met := apierrors.NewConflict(schema.GroupResource{}, "a", errors.New("the object has been modified"))
	var all sync.WaitGroup
	var tries, inside atomic.Int32
	for range 10 {
		first := true
		all.Go(func() {
			assert.NoError(t, c.inTurn(t.Context(), "a", func() error {
				tries.Add(1)
				if first {
					first = false
					return met
				}
				assert.EqualValues(t, 1, inside.Add(1), "one at a time")
				runtime.Gosched()
				inside.Add(-1)
				return nil
			}))
		})
	}
	end()
	all.Wait()
	assert.EqualValues(t, 20, tries.Load())
	assert.Empty(t, c.Turns.lines)
}
