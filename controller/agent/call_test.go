package agent

import (
	"context"
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/tool"
)

// listens serves the agent's socket and returns its path.
func (x terminal) listens() string {
	ctx, stop := context.WithCancel(x.t.Context())
	x.t.Cleanup(stop)
	socket := filepath.Join(x.t.TempDir(), "agent.sock")
	go x.agent.ServeSocket(ctx, socket)
	require.Eventually(x.t, func() bool { return ask(ctx, socket, pathStatus, io.Discard) == nil }, 20*time.Second, time.Millisecond)
	return socket
}

// What a tool is given is stored as it is or refused: bytes that are no text are not replaced on their way to the agent
// (RELATIONS.md P4, P6).
func TestCallRefusesWhatIsNoText(t *testing.T) {
	x := newTerminal(t)
	hear(x.agent, heardAt(1))
	socket := x.listens()
	for _, args := range [][]string{
		{"relation-set", "-r", "7", "key=caf\xe9"}, {"secret-add", "--owner", "unit", "password=\xff\xfe"},
	} {
		result := Call(t.Context(), socket, tool.Call{Name: args[0], Args: args[1:]})
		assert.Equal(t, 1, result.ExitCode)
		assert.Contains(t, string(result.Stderr), "ERROR invalid: ")
		assert.Contains(t, string(result.Stderr), "not UTF-8")
		assert.NotContains(t, string(result.Stderr), "password=", "it may be secret")
	}
	assert.Empty(t, x.controller.commits, "nothing was stored")
	assert.Zero(t, Call(t.Context(), socket, tool.Call{Name: "relation-set", Args: []string{"-r", "7", "key=café\x00\n'"}}).ExitCode)
	require.Len(t, x.controller.commits, 1)
	assert.Equal(t, map[string]string{"key": "café\x00\n'"}, x.controller.commits[0].GetChanges()[0].GetSet())
}

// A call that is too long is refused with its size and the limit (RELATIONS.md P6), and the agent is not said to be away.
func TestCallThatIsTooLong(t *testing.T) {
	x := newTerminal(t)
	hear(x.agent, heardAt(1))
	call := tool.Call{Name: "relation-set", Args: []string{"-r", "7", "--file", "-"}, Files: map[string][]byte{tool.Stdin: make([]byte, 3<<20)}}
	result := Call(t.Context(), x.listens(), call)
	assert.Equal(t, 1, result.ExitCode)
	assert.Contains(t, string(result.Stderr), "ERROR invalid: ")
	assert.Contains(t, string(result.Stderr), "2097152")
}
