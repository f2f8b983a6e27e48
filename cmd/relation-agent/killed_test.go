package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/agent"
)

// A handler that a signal has ended, as for want of memory, is reported with the signal: it has no exit code.
func TestHandlerEndsByASignal(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"kill -KILL $$":            "signal: killed",
		"echo almost >&2; kill $$": "signal: terminated: almost",
		"exec >&- 2>&-; exit 4":    "exit code 4",
	} {
		assert.Equal(t, want, runHook(t.Context(), []string{"sh", "-c", command}, t.TempDir(), agent.Turn{}), command)
	}
}
