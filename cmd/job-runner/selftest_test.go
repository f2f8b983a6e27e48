package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/dockerjob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/agent"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/conformance"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
)

// The tests of a machine are about its runner and its engine; an engine that cannot be called proves nothing, and the
// agent goes on.
func TestSelftest(t *testing.T) {
	calls := make(chan string, 100)
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls <- r.URL.Path
		if strings.HasSuffix(r.URL.Path, "/info") {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"ServerVersion":"20.10","KernelVersion":"6.1","DefaultRuntime":"runc"}`))
			return
		}
		w.WriteHeader(http.StatusInternalServerError)
	}))
	t.Cleanup(served.Close)
	docker, err := client.New(client.WithHost("tcp://"+strings.TrimPrefix(served.URL, "http://")), client.WithAPIVersion("1.41"))
	require.NoError(t, err)
	folder, err := os.MkdirTemp("", "s") //nolint:usetesting // a socket's path is short
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	program := filepath.Join(folder, "job-runner")
	require.NoError(t, os.WriteFile(program, []byte("program"), 0o600))
	m := &machine{folder: folder, limits: dockerjob.DefaultLimits(), connection: &agent.Connection{Clock: time.Now}}
	tests, err := m.newTests(t.Context(), docker, program)
	require.NoError(t, err)
	subject, err := tests.Subject(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "job-runner development sha256:1310ca2c8932dbd1, engine 20.10 kernel 6.1 runtime runc", subject)
	require.ErrorContains(t, tests.Prove(t.Context()), "cannot test this machine: ")
	assert.Empty(t, tests.Proof().Subject)
	text, err := json.Marshal(conformance.Proof{Subject: subject, Report: conformance.Golden()})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "proof.json"), text, 0o600))
	tests, err = m.newTests(t.Context(), docker, program)
	require.NoError(t, err)
	assert.Equal(t, subject, tests.Proof().Subject, "the first call of an agent that starts again reports it")
	_, err = m.newTests(t.Context(), docker, filepath.Join(folder, "none"))
	require.ErrorContains(t, err, "cannot test this machine")
}

// The program by which a machine tests itself is a command.
func TestSelftestCommand(t *testing.T) {
	var out strings.Builder
	code, err := run(t.Context(), []string{"selftest", "burst"}, &out)
	require.NoError(t, err)
	assert.Equal(t, contract.Success, code)
	assert.Len(t, out.String(), 10<<20)
	code, err = run(t.Context(), []string{"selftest"}, &out)
	require.NoError(t, err)
	assert.Equal(t, 1, code)
}
