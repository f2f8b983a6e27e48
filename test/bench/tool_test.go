package bench

import (
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// BenchmarkTool measures a tool from its start to its end: relation-get of one value,
// against a running agent, and beside it the same binary's start alone and a program
// that does nothing. The target is 10 ms.
func BenchmarkTool(b *testing.B) {
	const warming, turns = 20, 200
	a := newWorld(b).agents(1)
	agent := controlplane.Binary(b, "relation-agent")
	commands := map[string][]string{
		"relation-get": {agent, "-root=" + a.roots[0], "tool", "relation-get", "-r", "1", "--app", "host"},
		"version":      {agent, "version"},
		"nothing":      {"true"},
	}
	prints := map[string]string{"relation-get": "db.tengu.io\n"}
	took := map[string][]time.Duration{}
	turn := func() {
		for name, line := range commands {
			began := time.Now()
			out, err := exec.CommandContext(b.Context(), line[0], line[1:]...).CombinedOutput()
			took[name] = append(took[name], time.Since(began))
			require.NoError(b, err, "%s: %s", name, out)
			if want := prints[name]; want != "" {
				require.Equal(b, want, string(out))
			}
		}
	}
	for range warming {
		turn()
	}
	clear(took)
	for b.Loop() {
		for range turns {
			turn()
		}
	}
	for name, all := range took {
		report(b, name+"-", all, "p50", "p95")
	}
}
