package bundle_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	engine "gitlab.ilabt.imec.be/tengu/orcon/controller/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// stopped is a cluster whose user interrupts a run when it begins to delete.
type stopped struct {
	*cluster

	stop context.CancelFunc
}

func (s stopped) Delete(context.Context, []bundle.Deletion) map[bundle.ID]error {
	s.stop()
	return nil
}

// Who is interrupted once all is healthy, while what left the bundle is deleted, has something
// to go on with too; who was never interrupted has not (BUNDLES.md 3 and 8).
func TestInterrupted(t *testing.T) {
	c, s := &cluster{objects: map[bundle.ID]bundle.Object{}, now: time.Unix(0, 0)}, &store{plans: map[int]bundle.Plan{}}
	run := func(on engine.Cluster) *engine.Engine {
		return &engine.Engine{Cluster: on, Store: s, Owner: "shop/shop", Pause: time.Microsecond, Now: func() time.Time { return c.now }}
	}
	install := func(ctx context.Context, e *engine.Engine, names ...string) error {
		var objects []bundle.Object
		for _, name := range names {
			objects = append(objects, bundle.Object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": "shop"}})
		}
		sequence, err := bundle.Order(objects)
		require.NoError(t, err)
		p, err := e.Plan(ctx, engine.Wish{Sequence: sequence})
		require.NoError(t, err)
		return e.Install(ctx, p, engine.Wish{Sequence: sequence})
	}
	interrupted := func() bool {
		is, err := run(c).Interrupted(t.Context())
		require.NoError(t, err)
		return is
	}
	assert.False(t, interrupted(), "nothing is installed")
	require.NoError(t, install(t.Context(), run(c), "a", "b"))
	assert.False(t, interrupted())

	ctx, stop := context.WithCancel(t.Context())
	require.ErrorIs(t, install(ctx, run(stopped{c, stop}), "a"), context.Canceled)
	assert.Len(t, c.objects, 2)
	e := run(c)
	is, err := e.Interrupted(t.Context())
	require.NoError(t, err)
	require.True(t, is)
	require.NoError(t, e.Resume(t.Context()))
	assert.Len(t, c.objects, 1)
	assert.False(t, interrupted())
}
