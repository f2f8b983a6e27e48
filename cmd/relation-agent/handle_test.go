package main

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/agent"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
)

// What a handler says at its end is told, and no part of a word that may be part of a
// secret.
func TestLastWords(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ said, want string }{
		"Short": {said: "no such table\n", want: "exit code 3: no such table"},
		"Long":  {said: strings.Repeat("s", maxSaid) + " is no such table", want: "exit code 3: …is no such table"},
		"One":   {said: strings.Repeat("s", maxSaid+1), want: "exit code 3"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failure := runHook(t.Context(), []string{"sh", "-c", `printf %s "$1" >&2; exit 3`, "sh", test.said}, t.TempDir(), agent.Turn{})
			assert.Equal(t, test.want, failure)
		})
	}
}

// The report of a failure hides the rest of a secret whose first words were cut off (TRUST.md R5).
func TestLastWordsOfASecret(t *testing.T) {
	t.Parallel()
	const secret = "correct horse battery staple"
	for more := 0; more < maxSaid; more += 9 {
		said := "the password is " + secret + strings.Repeat(" x", more/2) + strings.Repeat("y", more%2)
		failure := runHook(t.Context(), []string{"sh", "-c", `printf %s "$1" >&2; exit 3`, "sh", said}, t.TempDir(), agent.Turn{})
		shown := status.LastWords(failure, secret)
		for word := range strings.FieldsSeq(secret) {
			require.NotContains(t, shown, word, "%d", more)
		}
	}
}

// A handler that cannot be run says what to change: its logs are empty.
func TestHandlerThatCannotRun(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		mode os.FileMode
		want string
	}{
		"NotExecutable": {"#!/bin/sh\n", 0o600, ": it is not executable: use chmod +x in the image, or defaultMode: 0755 in its volume"},
		"NoInterpreter": {"#!/nowhere/python3\n", 0o700, ": the image does not have the interpreter that its first line names"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "main-relation-changed")
			require.NoError(t, os.WriteFile(file, []byte(test.text), test.mode))
			assert.Equal(t, "cannot run "+file+test.want, runHook(t.Context(), []string{file}, filepath.Dir(file), agent.Turn{}))
		})
	}
}

// A command that the image does not have is reported so, and not for want of an interpreter.
func TestCommandThatIsNotThere(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "reload")
	assert.Equal(t, "cannot run "+missing+": the image does not have it", runHook(t.Context(), []string{missing, "--now"}, "", agent.Turn{}))
	assert.Equal(t, "cannot run reload-of-nobody: the image does not have it",
		runHook(t.Context(), []string{"reload-of-nobody"}, "", agent.Turn{}))
}

// A handler that has succeeded has, also if it has left a child behind.
func TestHandlerLeavesAChild(t *testing.T) {
	t.Parallel()
	assert.Empty(t, runHook(t.Context(), []string{"sh", "-c", "sleep 12 & exit 0"}, t.TempDir(), agent.Turn{}))
}

// When its container ends the runner goes on with what a unit that leaves is owed, and
// ends when that is all (SAFETY.md E14).
func TestRunnerHandlesTheEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	socket, heard := filepath.Join(dir, "s"), filepath.Join(dir, "heard")
	asked := make(chan struct{})
	last := []string{"store-relation-departed", "store-relation-broken"}
	var done []agent.Done
	mux := http.NewServeMux()
	mux.HandleFunc("POST /next", func(_ http.ResponseWriter, r *http.Request) { close(asked); <-r.Context().Done() })
	mux.HandleFunc("POST /last", func(w http.ResponseWriter, _ *http.Request) {
		if len(last) == 0 {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		assert.NoError(t, json.NewEncoder(w).Encode(agent.Turn{Context: last[0], Hook: last[0], Env: map[string]string{"HOOK": last[0]}}))
		last = last[1:]
	})
	mux.HandleFunc("POST /done", func(_ http.ResponseWriter, r *http.Request) {
		var d agent.Done
		assert.NoError(t, json.NewDecoder(r.Body).Decode(&d))
		done = append(done, d)
	})
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	server := http.Server{Handler: mux}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })

	ctx, end := context.WithCancel(t.Context())
	go func() { <-asked; end() }()
	agent.Runner{Socket: socket}.Run(ctx, program(func(string) ([]string, string) {
		return []string{"sh", "-c", `echo "$HOOK" >> "$1"`, "sh", heard}, dir
	}).handle)
	text, err := os.ReadFile(heard)
	require.NoError(t, err)
	assert.Equal(t, "store-relation-departed\nstore-relation-broken\n", string(text))
	assert.Equal(t, []agent.Done{{Context: "store-relation-departed", Handled: true}, {Context: "store-relation-broken", Handled: true}}, done)
}

// A file that runs for no event because of one letter is named; nothing else would.
func TestMisnamedHandlersAreNamed(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"store-relation-create", "store-relation-changed", "store-relation-xyz", "lib.sh"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), nil, 0o600))
	}
	files, err := os.ReadDir(folder)
	require.NoError(t, err)
	assert.Equal(t, []string{
		"handler store-relation-create never runs: no event has this name; did you mean store-relation-created?",
		"handler store-relation-xyz never runs: no event has this name",
	}, misnamed(files))
}
