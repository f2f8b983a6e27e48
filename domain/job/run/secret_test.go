package run_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
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

// JOBS-DESIGN.md 16: an input names the RunNode of a token and has no token. Inputs without one, which were frozen by earlier
// versions, keep their digests.
func TestFreezeJoinToken(t *testing.T) {
	input, err := template(t).Freeze("deploy", map[string]any{"size": 3}, []run.SecretFile{{Name: "token", JoinToken: "lab-1"}})
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"fromFile": "/run/orcon/secrets/token"}, input.Parameters["token"])
	text, err := json.Marshal(input.Secrets)
	require.NoError(t, err)
	assert.JSONEq(t, `[{"name": "token", "secret": "", "key": "", "joinToken": "lab-1"}]`, string(text))
	text, err = json.Marshal(secrets()[0])
	require.NoError(t, err)
	assert.JSONEq(t, `{"name": "token", "secret": "db", "key": "token"}`, string(text))
}
