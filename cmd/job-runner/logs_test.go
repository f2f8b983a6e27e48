package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/logs"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// JOBS-DESIGN.md 14: a run finds the log files of the last one if its template restores them, and an empty folder
// otherwise; what was written before stays readable.
func TestLogsAreRestored(t *testing.T) {
	b := newBench(t)
	const script = `mkdir -p $LOGS/sub; echo again >>$LOGS/sub/a; cat $LOGS/sub/a >$LOGS/seen; head -c 600000 /dev/zero >>$LOGS/large`
	for i, tc := range []struct {
		restore bool
		want    string
		size    int
	}{{false, "again\n", 600000}, {true, "again\nagain\n", 1200000}, {true, "again\nagain\nagain\n", 1800000}, {false, "again\n", 600000}} {
		run := string(rune('a' + i))
		p := b.newPod(t, "w", run)
		caller := serve.Caller{Workspace: "w", Run: workspace.Run{UID: run, Name: run}, Claimant: workspace.Claimant{ID: "pod-" + run, Where: "node"}}
		b.Add(run, caller, serve.Run{RestoreLogs: tc.restore})
		k := p.keeper(t.Context(), t)
		require.Zero(t, p.shim(t.Context(), t, script).code())
		require.Zero(t, k.code())
		for name, check := range map[string]func(string){
			"/logs/seen":  func(text string) { assert.Equal(t, tc.want, text, run) },
			"/logs/sub/a": func(text string) { assert.Equal(t, tc.want, text, run) },
			"/logs/large": func(text string) { assert.Len(t, text, tc.size, run) },
		} {
			r, err := logs.NewReader(b.Store, logs.Attempt{Workspace: "w", Fence: b.Workspace("w").Last.Fence}, name)
			require.NoError(t, err)
			var all []byte
			for piece, err := range r.Pieces(t.Context()) {
				require.NoError(t, err)
				all = append(all, piece.Content...)
			}
			check(string(all))
		}
	}
}
