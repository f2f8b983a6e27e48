package keeper_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
)

// JOBS-DESIGN.md 17: while a container is held the run goes on, and shows why; what a person leaves in the state is captured.
func TestHold(t *testing.T) {
	b := newBench(t, `echo x > $STATE/x; exit 3`)
	b.Hold = time.Hour
	store := b.store(t)
	m := &model{next: hold()}
	code, err := b.run(t, m, store, func(*child, func()) {
		until(t, "it shows that it is held", func() bool {
			return look(m, func() string { return m.delay.Why }) == "it failed with exit code 3, and its container is held for 1h0m0s: a cancel ends that"
		})
		assert.Empty(t, look(m, func() int { return len(m.ends) }))
		assert.NoError(t, os.WriteFile(filepath.Join(b.path("state"), "mended"), nil, 0o600))
		look(m, func() bool { m.cancelled = true; return true })
	})
	require.NoError(t, err)
	assert.Equal(t, 3, code)
	e := only(t, m)
	assert.Equal(t, job.Committed, e.Outcome)
	assert.FileExists(t, filepath.Join(restored(t, store, *e.State), "mended"))
}
