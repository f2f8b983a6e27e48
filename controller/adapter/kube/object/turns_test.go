package object

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

// Writers that met wait for their turn, one at a time. A writer that gives up holds no other back, and
// an empty line is not kept.
func TestTurns(t *testing.T) {
	turns := &Turns{}
	end, err := turns.Take(t.Context(), "a")
	require.NoError(t, err)
	given, giveUp := context.WithCancel(t.Context())
	giveUp()
	_, err = turns.Take(given, "a")
	require.ErrorIs(t, err, context.Canceled)
	elsewhere, err := turns.Take(t.Context(), "b")
	require.NoError(t, err, "another name is another line")
	elsewhere()

	met := apierrors.NewConflict(schema.GroupResource{}, "a", errors.New("the object has been modified"))
	var all sync.WaitGroup
	var tries, inside atomic.Int32
	for range 10 {
		first := true
		all.Go(func() {
			assert.NoError(t, turns.Write(t.Context(), "a", func() error {
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
	assert.Empty(t, turns.lines)
}
