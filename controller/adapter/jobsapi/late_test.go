package jobsapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// JOBS.md J8: an end whose answer was lost comes again when its generation is kept no longer, as from a node that was cut
// off: it makes no orphan of a state that was committed.
func TestVeryLateEnd(t *testing.T) {
	b := newBench(t)
	require.NoError(t, b.Change("w", func(w workspace.Workspace) (workspace.Workspace, error) {
		w.Terms.Keep = 1
		return w, nil
	}))
	var ends []func() error
	for n, run := range []string{"r", "s", "t"} {
		if n > 0 {
			b.admit(t, run)
		}
		c := b.client(t, run, "pod-"+run)
		h, err := c.Claim(t.Context(), keeper.Claimant{Run: run, Attempt: 1, Place: "pod-" + run})
		require.NoError(t, err)
		content := fmt.Sprint("content ", n)
		s := archive(h.Fence, content)
		require.NoError(t, c.Put(t.Context(), s.Blob, strings.NewReader(content)))
		ends = append(ends, func() error {
			return c.End(t.Context(), keeper.Holder{Claimant: keeper.Claimant{Run: run}, Fence: h.Fence},
				keeper.End{Outcome: job.Committed, Base: h.Generation, State: &s})
		})
		require.NoError(t, ends[n]())
	}
	before := b.Workspace("w")
	require.NoError(t, ends[0]())
	assert.Equal(t, before, b.Workspace("w"))
}
