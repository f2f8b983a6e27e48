package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/agent"
)

// What a handler says at its end is told, and no part of a word that may be part of a
// secret.
func TestLastWords(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ said, want string }{
		"Short": {said: "no such table\n", want: "exit code 3: no such table"},
		"Long":  {said: strings.Repeat("s", maxSaid) + " is no such table", want: "exit code 3: is no such table"},
		"One":   {said: strings.Repeat("s", maxSaid+1), want: "exit code 3: "},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failure := runHook(t.Context(), []string{"sh", "-c", `printf %s "$1" >&2; exit 3`, "sh", test.said}, t.TempDir(), agent.Turn{})
			assert.Equal(t, test.want, failure)
		})
	}
}

// A handler that has succeeded has, also if it has left a child behind.
func TestHandlerLeavesAChild(t *testing.T) {
	t.Parallel()
	assert.Empty(t, runHook(t.Context(), []string{"sh", "-c", "sleep 12 & exit 0"}, t.TempDir(), agent.Turn{}))
}
