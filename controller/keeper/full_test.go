package keeper_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
)

// JOBS.md J4 and J7: a run on a full disk can be cancelled, and ends.
func TestCancelOnFullDisk(t *testing.T) {
	b := newBench(t, `trap 'exit 3' TERM; echo x >$STATE/x; touch $BASE/ready; while :; do sleep 0.05; done`)
	m := &model{next: hold()}
	b.Ledger = serve(t, m)
	full := func(c *child) {
		require.NoError(t, unix.Prlimit(c.Process.Pid, unix.RLIMIT_FSIZE, &unix.Rlimit{}, nil))
	}
	k, s := b.start(t, keeperPart), b.start(t, shimPart)
	until(t, "it is ready", func() bool { return b.there("ready") })
	full(k)
	full(s)
	look(m, func() bool { m.cancelled = true; return true })
	until(t, "it ends", func() bool {
		select {
		case <-k.ended: // a kubelet starts it again
			k = b.start(t, keeperPart)
			full(k)
		default:
		}
		return look(m, func() bool { return len(m.ends) > 0 })
	})
	e := only(t, m)
	assert.Equal(t, job.Failed, e.Outcome)
	assert.Contains(t, e.Message, "cannot capture the state")
	_, err := os.Stat(b.path("state/x"))
	require.NoError(t, err, "nothing of it is removed")
}
