package bundles

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A process that is killed between any two writes leaves what the next one goes on
// from: all ends as if nobody had been killed (BUNDLES.md 8).
func TestKilledBetweenAnyTwoWrites(t *testing.T) {
	const runs = 200
	for seed := range uint64(runs) {
		random := rand.New(rand.NewPCG(seed, 0))
		w := newWorld(t)
		w.killed(random, blue+extra+secret)
		require.Equal(t, map[string]map[string]string{"colour": {"colour": "blue", "size": "3"}, "extra": {"a": "b"}}, w.configMaps(), "seed %d", seed)
		w.killed(random, green+service)
		require.Equal(t, map[string]map[string]string{"colour": {"colour": "green"}}, w.configMaps(), "seed %d", seed)
		w.killedUninstalling(random)
		assert.Empty(t, w.configMaps(), "seed %d", seed)
	}
}

// Who is killed while an upgrade fails, or on the way back, leaves to the next one to
// finish that way (BUNDLES.md 6 and 8).
func TestKilledOnTheWayBack(t *testing.T) {
	const runs = 6
	for seed := range uint64(runs) {
		random := rand.New(rand.NewPCG(seed, 0))
		w := newWorld(t)
		require.NoError(t, w.install(blue+extra))
		for range 3 {
			p := w.process(3 + random.Int64N(9))
			_ = p.install(p.wish(t, green+broken))
		}
		require.Error(t, w.install(green+broken), "seed %d", seed)
		assert.Equal(t, map[string]map[string]string{"colour": {"colour": "blue", "size": "3"}, "extra": {"a": "b"}}, w.configMaps(), "seed %d", seed)
	}
}

// killed installs by processes that die after some writes, and last by one that lives.
func (w *world) killed(random *rand.Rand, manifests string) {
	w.t.Helper()
	for range random.IntN(4) {
		p := w.process(random.Int64N(8))
		_ = p.install(p.wish(w.t, manifests))
	}
	require.NoError(w.t, w.install(manifests))
}

func (w *world) killedUninstalling(random *rand.Rand) {
	w.t.Helper()
	_ = w.process(random.Int64N(6)).uninstall()
	require.NoError(w.t, w.process(-1).uninstall())
	require.Eventually(w.t, func() bool { return len(w.secrets()) == 0 }, time.Minute, 20*time.Millisecond, "what was stored is collected")
}
