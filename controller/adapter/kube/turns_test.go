package kube

import (
	"context"
	"errors"
	"sync"
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
	inside, most, tries := 0, 0, 0
	var mu sync.Mutex
	for range 10 {
		first := true
		all.Go(func() {
			err := c.inTurn(t.Context(), "a", func() error {
				mu.Lock()
				defer mu.Unlock()
				tries++
				if first {
					first = false
					return met
				}
				inside++
				most = max(most, inside)
				inside--
				return nil
			})
			assert.NoError(t, err)
		})
	}
	end()
	all.Wait()
	assert.Equal(t, 20, tries)
	assert.Equal(t, 1, most)
	assert.Empty(t, c.Turns.lines)
}
