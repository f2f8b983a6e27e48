package agent

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Files that cannot be written are reported once they have failed a few times, each minute as long as that lasts
// (TRUST.md U2).
func TestUnwrittenFilesAreReported(t *testing.T) {
	v := newVolumes(t, t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		c := &controller{}
		a := New(settings(t, "store:pg", ""), v.disk(), c, nil)
		a.Start()
		reports := func(after time.Duration) int {
			<-time.After(after)
			synctest.Wait()
			c.mu.Lock()
			defer c.mu.Unlock()
			return len(c.unwritten)
		}
		require.NoError(t, os.RemoveAll(v.path("bindings")))
		hear(a, heardAt(1))
		assert.Zero(t, reports(time.Second), "what passes is not reported")
		assert.Equal(t, 1, reports(10*time.Second))
		assert.Contains(t, c.unwritten[0], "cannot write bindings store, store-7: no such file or directory")
		assert.NotContains(t, c.unwritten[0], `"h"`, "no value is in it")
		assert.Equal(t, 1, reports(40*time.Second))
		assert.Equal(t, 2, reports(time.Minute))

		require.NoError(t, os.Mkdir(v.path("bindings"), 0o750))
		assert.Equal(t, 2, reports(time.Hour), "it is over")
		assert.Equal(t, "h", v.tree(t)["store"]["host"])
	})
}
