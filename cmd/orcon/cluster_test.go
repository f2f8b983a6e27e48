package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An error of a kubeconfig names the file and what helps.
func TestKubeconfigErrors(t *testing.T) {
	const valid = `{apiVersion: v1, kind: Config, current-context: a,
clusters: [{name: a, cluster: {server: "http://127.0.0.1:1"}}, {name: b, cluster: {server: "https://host.invalid"}}],
contexts: [{name: a, context: {cluster: a}}, {name: b, context: {cluster: b}}, {name: c, context: {cluster: none}}]}`
	config := write(t, "config", valid)
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	t.Cleanup(refusing.Close)
	stranger := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(stranger.Close)
	server := func(url string) string {
		return write(t, "config", "{apiVersion: v1, kind: Config, current-context: a, clusters: [{name: a, cluster: {server: \""+url+"\"}}], contexts: [{name: a, context: {cluster: a}}]}")
	}
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	tests := map[string]struct {
		why  string
		args []string
		errs string
	}{
		"Missing":      {"the file was named", []string{"--kubeconfig", nowhere}, "cannot read kubeconfig " + nowhere + ": no such file: correct --kubeconfig"},
		"Broken":       {"YAML that cannot be read", []string{"--kubeconfig", write(t, "broken", "a: [")}, "correct the file, or name another with --kubeconfig FILE"},
		"NoContext":    {"the contexts that there are", []string{"--kubeconfig", config, "--context", "d"}, `cannot find context "d" in ` + config + ": the contexts are a, b, c"},
		"NoCurrent":    {"none is chosen", []string{"--kubeconfig", write(t, "none", "{apiVersion: v1, kind: Config, contexts: [{name: a, context: {cluster: a}}]}")}, "has no current context: use --context with one of a"},
		"NoServer":     {"a context of no cluster", []string{"--kubeconfig", config, "--context", "c"}, "choose another context with --context (a, b, c)"},
		"Refused":      {"nothing listens", []string{"--kubeconfig", config}, "No API server answers at 127.0.0.1:1: start the cluster, or choose another context"},
		"Unknown":      {"no such host", []string{"--kubeconfig", config, "--context", "b"}, "The host name host.invalid of the API server is not known"},
		"Unauthorized": {"expired credentials", []string{"--kubeconfig", server(refusing.URL)}, "The API server refuses your credentials: log in again"},
		"Stranger":     {"another cluster's certificate", []string{"--kubeconfig", server(stranger.URL)}, "The API server's certificate does not fit the kubeconfig"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			code, out, errs := call("", append([]string{"history", "shop"}, tc.args...)...)
			assert.Equal(t, exitMisuse, code, tc.why)
			assert.Empty(t, out, tc.why)
			assert.Contains(t, errs, tc.errs, tc.why)
		})
	}
}

// Where no kubeconfig is found, the error names the files that were looked for.
func TestNoKubeconfig(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	t.Setenv("KUBECONFIG", nowhere)
	code, _, errs := call("", "history", "shop")
	assert.Equal(t, exitMisuse, code)
	assert.Contains(t, errs, "cannot find a cluster: no kubeconfig in "+nowhere+": set $KUBECONFIG, or use --kubeconfig FILE")
	require.NoFileExists(t, nowhere)
	require.NoError(t, os.WriteFile(nowhere, nil, 0o600))
	_, _, errs = call("", "history", "shop")
	assert.Contains(t, errs, nowhere, "an empty file names no cluster either")
}
