package run_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
)

// JOBS.md J14: each file of a run is that of a Secret or a token, in the order in which they are given.
func TestFiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		files := rapid.SliceOf(rapid.Custom(func(t *rapid.T) run.SecretFile {
			return run.SecretFile{Name: rapid.String().Draw(t, "name"), JoinToken: rapid.SampledFrom([]string{"", "lab-1"}).Draw(t, "node")}
		})).Draw(t, "files")
		before := slices.Clone(files)
		minted, stored := run.Minted(files), run.Stored(files)
		require.Equal(t, before, files)
		require.Len(t, files, len(minted)+len(stored))
		for _, f := range files {
			if f.JoinToken != "" {
				require.Equal(t, f, minted[0])
				minted = minted[1:]
				continue
			}
			require.Equal(t, f, stored[0])
			stored = stored[1:]
		}
	})
}
