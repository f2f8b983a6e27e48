package main

import (
	"os"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/blobtest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/logs"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
	"gitlab.ilabt.imec.be/tengu/orcon/test/conformance/api"
)

// A command line that is wrong ends with a code of the runner and the cure.
func TestCommandLine(t *testing.T) {
	for label, tc := range map[string]struct {
		args string
		code int
		want string
	}{
		"None":       {args: "", code: contract.Misused, want: "use keeper, shim, agent, install, unpack, selftest or version"},
		"Misspelt":   {args: "keper", code: contract.Misused, want: `did you mean "keeper"?`},
		"Unknown":    {args: "xyzzy", code: contract.Misused, want: "use keeper, shim, agent, install, unpack, selftest or version"},
		"Flag":       {args: "shim --frob", code: contract.Misused, want: "frob"},
		"NoCommand":  {args: "shim", code: contract.Misused, want: "write it after --"},
		"NoRun":      {args: "keeper --place p --address a", code: contract.Misused, want: "flag --run is missing"},
		"Argument":   {args: "keeper --run r --place p --address a x", code: contract.Misused, want: `unexpected argument "x"`},
		"Install":    {args: "install a b", code: contract.Misused, want: "install needs one FILE"},
		"Trust":      {args: "keeper --run r --place p --address a --trust /none", code: contract.Misused, want: "trusted certificates"},
		"NoPEM":      {args: "keeper --run r --place p --address a --trust /dev/null", code: contract.Misused, want: "must be PEM"},
		"Exclude":    {args: "keeper --run r --place p --address a --exclude [", code: contract.Misused, want: "exclude"},
		"Help":       {args: "--help", code: contract.Success},
		"KeeperHelp": {args: "keeper --help", code: contract.Success},
	} {
		t.Run(label, func(t *testing.T) {
			var out strings.Builder
			code, err := run(t.Context(), strings.Fields(tc.args), &out)
			assert.Equal(t, tc.code, code)
			if tc.code == contract.Success {
				require.NoError(t, err)
				assert.Contains(t, out.String(), "Usage:\n  job-runner keeper [flags]")
				return
			}
			require.ErrorContains(t, err, tc.want)
		})
	}
}

// JOBS.md J9 and J15: keeper and shim carry a run over HTTP, and the next one begins from its state.
func TestRuns(t *testing.T) {
	b := newBench(t)
	for _, run := range []string{"r1", "r2"} {
		p := b.newPod(t, "w", run)
		k := p.keeper(t.Context(), t)
		s := p.shim(t.Context(), t, `echo $0 >> $STATE/runs; echo hello; test $(wc -l < $STATE/runs) = `+run[1:]+` || exit 9; exit 3`)
		assert.Equal(t, 3, s.code())
		assert.Equal(t, contract.Success, k.code(), run)
	}
	assert.Equal(t, int64(2), b.Workspace("w").State.Number)
	key, err := blob.ParseKey(b.Workspace("w").State.Key)
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(blobtest.Read(t, b.Store, key), "age-encryption.org/"), "JOBS.md J14: it is stored encrypted")
}

// JOBS.md J11: what a run writes to its output and below /logs is read when its pod is gone, whole and by its names.
func TestLogs(t *testing.T) {
	b := newBench(t)
	p := b.newPod(t, "w", "r")
	k := p.keeper(t.Context(), t)
	s := p.shim(t.Context(), t, `echo hello; echo problem >&2; mkdir $LOGS/sub; echo one > "$LOGS/sub/a b.log"; head -c 3000000 /dev/zero > $LOGS/burst`)
	assert.Zero(t, s.code())
	assert.Zero(t, k.code())
	require.NoError(t, os.RemoveAll(p.folder))
	run := logs.Attempt{Workspace: "w", Fence: 1}
	names, err := logs.List(t.Context(), b.Store, run)
	require.NoError(t, err)
	assert.Equal(t, []string{"/logs/burst", "/logs/sub/a b.log", "stderr", "stdout"}, names)
	for name, want := range map[string]string{
		"stdout": "hello\n", "stderr": "problem\n", "/logs/sub/a b.log": "one\n", "/logs/burst": strings.Repeat("\x00", 3000000),
	} {
		r, err := logs.NewReader(b.Store, run, name)
		require.NoError(t, err)
		var text strings.Builder
		for p, err := range r.Pieces(t.Context()) {
			require.NoError(t, err)
			text.Write(p.Content)
		}
		assert.Len(t, text.String(), len(want), name)
		assert.True(t, strings.HasPrefix(text.String(), want), name)
		assert.Empty(t, r.Holes())
		assert.True(t, r.Ended(), name)
	}
}

// JOBS.md J14: a run whose state no key opens starts nothing and loses nothing. It goes on when the key is there.
func TestWrongKey(t *testing.T) {
	b := newBench(t)
	first := b.newPod(t, "w", "r1")
	k := first.keeper(t.Context(), t)
	require.Zero(t, first.shim(t.Context(), t, `echo old > $STATE/a`).code())
	require.Zero(t, k.code())
	file := b.Keys()
	right, err := os.ReadFile(file)
	require.NoError(t, err)
	wrong, err := age.GenerateX25519Identity()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte(wrong.String()+"\n"), 0o600))

	p := b.newPod(t, "w", "r2")
	k = p.keeper(t.Context(), t)
	s := p.shim(t.Context(), t, `test $(cat $STATE/a) = old`)
	require.NoError(t, api.Wait(t.Context(), func() bool {
		text, err := os.ReadFile(p.path("log"))
		return err == nil && strings.Contains(string(text), "it was encrypted to another key than the 1 of "+file)
	}))
	assert.False(t, p.there("exchange/start"))
	require.NoError(t, os.WriteFile(file, []byte(wrong.String()+"\n"+string(right)), 0o600))
	assert.Zero(t, s.code(), "it has its state")
	assert.Zero(t, k.code())
}

// JOBS.md J10: a second pod of a Run starts nothing.
func TestSecondPod(t *testing.T) {
	b := newBench(t)
	p := b.newPod(t, "w", "r")
	require.NoError(t, os.WriteFile(p.path("token"), []byte("r"), 0o600))
	k := p.start(t.Context(), t, "keeper", "--run", "r", "--place", "pod-r", "--attempt", "2", "--address", "http://"+p.Address,
		"--token", p.path("token"), "--exchange", p.path("exchange"), "--state", p.path("state"), "--scratch", p.path("scratch"))
	s := p.shim(t.Context(), t, `touch $BASE/ran`)
	assert.Equal(t, contract.Refused, k.code())
	assert.Equal(t, contract.Refused, s.code())
	assert.False(t, p.there("ran"))
}
