package selftest

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/conformance"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
)

// surround gives this process what the contract promises, as far as a process can have it, and returns the folder.
func surround(t *testing.T) string {
	folder := t.TempDir()
	for _, name := range []string{"state", "logs", "home", "tmp", "work"} {
		require.NoError(t, os.Mkdir(filepath.Join(folder, name), 0o700))
	}
	require.NoError(t, os.WriteFile(filepath.Join(folder, "parameters.json"), []byte(Parameters), 0o600))
	stored := ""
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			var text bytes.Buffer
			_, _ = text.ReadFrom(r.Body)
			stored = text.String()
			return
		}
		_, _ = w.Write([]byte(stored))
	}))
	t.Cleanup(served.Close)
	for name, value := range map[string]string{
		contract.VariableContract: contract.Version, contract.VariableAction: "check", contract.VariableAttempt: "1", contract.VariableGeneration: "0",
		contract.VariableNamespace: "ns", contract.VariableWorkspace: "w", contract.VariableRun: "r", contract.VariableAddress: served.URL,
		contract.VariableState: filepath.Join(folder, "state"), contract.VariableParameters: filepath.Join(folder, "parameters.json"),
		contract.VariableOutputs: filepath.Join(folder, "state", "outputs.json"), contract.VariableLogs: filepath.Join(folder, "logs"),
		contract.VariableSecrets: filepath.Join(folder, "secrets"), "HOME": filepath.Join(folder, "home"), "TMPDIR": filepath.Join(folder, "tmp"),
	} {
		t.Setenv(name, value)
	}
	t.Chdir(filepath.Join(folder, "work"))
	return folder
}

// failed returns what a check found; "" for one that passed.
func failed(t *testing.T, r conformance.Report, name string) string {
	for _, c := range r.Checks {
		if c.Name == name {
			return c.Found
		}
	}
	t.Fatalf("there is no check %q", name)
	return ""
}

// Each check from within fails for what breaks its promise, and passes otherwise.
func TestInside(t *testing.T) {
	tests := map[string]struct {
		breaks func(t *testing.T, folder string)
		found  string
	}{
		"parameters": {func(t *testing.T, folder string) {
			require.NoError(t, os.WriteFile(filepath.Join(folder, "parameters.json"), []byte(`{"yes":false}`), 0o600))
		}, "instead of"},
		"mode of the parameters": {func(t *testing.T, folder string) {
			require.NoError(t, os.Chmod(filepath.Join(folder, "parameters.json"), 0o644))
		}, `it is "-rw-r--r--" instead of "-rw-------"`},
		"folder of secrets": {func(t *testing.T, folder string) {
			require.NoError(t, os.Mkdir(filepath.Join(folder, "secrets"), 0o700))
		}, "it can be written"},
		"folder of logs": {func(t *testing.T, folder string) {
			require.NoError(t, os.WriteFile(filepath.Join(folder, "logs", "old"), nil, 0o600))
		}, "it is not empty: old"},
		"folder of the state":                     {func(t *testing.T, folder string) { require.NoError(t, os.RemoveAll(filepath.Join(folder, "state"))) }, "no such file"},
		"folder of the home":                      {func(t *testing.T, folder string) { require.NoError(t, os.Remove(filepath.Join(folder, "home"))) }, "no such file"},
		"folder of temporary files":               {func(t *testing.T, folder string) { require.NoError(t, os.Remove(filepath.Join(folder, "tmp"))) }, "no such file"},
		"outputs":                                 {func(t *testing.T, folder string) { t.Setenv(contract.VariableOutputs, folder) }, "is a directory"},
		"state over HTTP":                         {func(t *testing.T, _ string) { t.Setenv(contract.VariableAddress, "http://127.0.0.1:1") }, "refused"},
		"variable " + contract.VariableAction:     {func(t *testing.T, _ string) { t.Setenv(contract.VariableAction, "deploy") }, `it is "deploy" instead of "check"`},
		"variable " + contract.VariableRun:        {func(t *testing.T, _ string) { t.Setenv(contract.VariableRun, "") }, "it is not set"},
		"variable " + contract.VariableGeneration: {func(t *testing.T, _ string) { t.Setenv(contract.VariableGeneration, "-1") }, "invalid syntax"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			folder := surround(t)
			assert.Empty(t, failed(t, inside(), name))
			require.NoError(t, os.RemoveAll(filepath.Join(folder, "logs", "conformance.log")))
			tc.breaks(t, folder)
			assert.Contains(t, failed(t, inside(), name), tc.found)
		})
	}
}

// A process of a test is not isolated, which the checks find.
func TestOutside(t *testing.T) {
	surround(t)
	r := inside()
	assert.Equal(t, contract.Version, r.Contract)
	assert.Contains(t, failed(t, r, "mounts"), "/state is not a mount")
	assert.Contains(t, failed(t, r, "privileges"), "NoNewPrivs: 1 is missing")
	assert.NotEmpty(t, failed(t, r, "working directory"))
	assert.Empty(t, failed(t, r, "token"))
}

// The program says what it can do.
func TestMisused(t *testing.T) {
	for _, args := range [][]string{nil, {"jump"}, {exit, "x"}} {
		var problems strings.Builder
		assert.Equal(t, 1, Main(args, os.Stdout, &problems), args)
		assert.NotEmpty(t, problems.String())
	}
}

// A burst is as long as it should be, on both outputs.
func TestBurst(t *testing.T) {
	var out, problems strings.Builder
	assert.Zero(t, Main([]string{burst}, &out, &problems))
	assert.Len(t, out.String(), burstSize)
	assert.Equal(t, "problem\n", problems.String())
}

// What comes back of a run must be all that the contract promises.
func TestTrials(t *testing.T) {
	text := strings.Repeat(line, burstSize/len(line))
	good := map[string]Result{
		"exit 0":                                    {Outcome: job.Committed},
		"exit 1, and the state is kept":             {Code: 1, Outcome: job.Committed},
		"exit 63, the last one of templates":        {Code: 63, Outcome: job.Committed},
		"exit 79, the last one of the runner":       {Code: 79, Outcome: job.Committed},
		"exit by a signal":                          {Code: 137, Killed: true, Outcome: job.Committed},
		"exit of a program that cannot be executed": {Code: contract.NotStarted, Outcome: job.None},
		"burst of 10 MiB":                           {Logs: map[string]string{"stdout": text, "stderr": "problem\n"}, Whole: true},
		"cancel":                                    {Code: stopped, Outcome: job.Committed, State: map[string]string{"term": "x"}},
		"cancel while the state is captured":        {Outcome: job.Committed, State: map[string]string{"late": "x"}},
		"out of memory":                             {Code: contract.Vanished, Killed: true, Outcome: job.Committed, State: map[string]string{"ready": "x"}},
		"cancel of a deaf process and its child": {Code: 137, Killed: true, Outcome: job.Committed, State: map[string]string{
			"ready": "2026-11-27T12:00:00Z", "hang": "2026-11-27T12:00:01Z",
		}},
	}
	bad := map[string]func(*Result){
		"another code":    func(r *Result) { r.Code += 5 },
		"another outcome": func(r *Result) { r.Outcome = job.Failed },
		"killed or not":   func(r *Result) { r.Killed = !r.Killed },
		"no files":        func(r *Result) { r.State = nil },
		"no logs":         func(r *Result) { r.Logs = nil },
		"a hole":          func(r *Result) { r.Whole = false },
		"no stderr":       func(r *Result) { r.Logs = map[string]string{"stdout": text} },
		"no grace": func(r *Result) {
			r.State = map[string]string{"ready": "2026-11-27T12:00:00Z", "hang": "2026-11-27T12:00:00Z"}
		},
	}
	ends := []string{"another code", "another outcome", "killed or not"}
	breaks := map[string][]string{
		"burst of 10 MiB": {"no logs", "a hole", "no stderr"}, "cancel": append(ends, "no files"),
		"cancel while the state is captured": append(ends, "no files"), "out of memory": append(ends, "no files"),
		"cancel of a deaf process and its child": append(ends, "no files", "no grace"),
	}
	for _, one := range trials() {
		t.Run(one.name, func(t *testing.T) {
			r, known := good[one.name]
			require.True(t, known)
			require.NoError(t, one.check(r))
			which := breaks[one.name]
			if which == nil {
				which = ends
			}
			for _, name := range which {
				broken := r
				bad[name](&broken)
				assert.Error(t, one.check(broken), name)
			}
		})
	}
}
