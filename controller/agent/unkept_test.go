package agent

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/spool"
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
)

// The agent reports databags that have no room in the state volume: no change arrives then, although the gate is open
// (TRUST.md A4).
func TestDatabagsWithoutRoomAreReported(t *testing.T) {
	v := newVolumes(t, t.TempDir())
	disk := v.disk()
	disk.Spool = spool.New(os.DevNull, 1000, nil)
	c := &controller{}
	a := New(settings(t, "db:pg", ""), disk, c, nil)
	a.Start()
	hear(a, grants(1, 0))
	require.True(t, a.isOpen())
	for range passing + 1 {
		a.Connected()
		err := a.Received(&wire.Piece{Text: []byte("a part")})
		require.Error(t, err)
		a.Lost(err, false, time.Second)
	}
	require.Eventually(t, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.unwritten) == 1
	}, 10*time.Second, time.Millisecond)
	assert.Contains(t, c.unwritten[0], "cannot keep databags: not a directory")
}
