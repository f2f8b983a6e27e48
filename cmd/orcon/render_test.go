package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const twoObjects = `apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data: {x: "1"}
---
apiVersion: v1
kind: Service
metadata: {name: a}
`

const parametrised = `apiVersion: template.openshift.io/v1
kind: Template
objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: "${NAME}"}, data: {a: "${TEXT}"}}]
parameters: [{name: NAME, value: a}, {name: TEXT}]
`

const template = `apiVersion: v1
kind: Secret
metadata: {name: {{ .Release.Name }}, namespace: {{ .Release.Namespace }}}
data: {a: "{{ .Values.x.a }}", b: "{{ .Values.x.b }}"}
`

func TestRender(t *testing.T) {
	good := filepath.Dir(write(t, "good.yaml", twoObjects))
	bad := filepath.Dir(write(t, "bad.yaml", twoObjects+"---\nkind: Secret\n"))
	empty := t.TempDir()
	chart := filepath.Dir(write(t, "Chart.yaml", "apiVersion: v2\nname: shop\nversion: 1.0.0\n"))
	require.NoError(t, os.Mkdir(filepath.Join(chart, "templates"), 0o750))
	require.NoError(t, os.WriteFile(filepath.Join(chart, "templates", "a.yaml"), []byte(template), 0o600))
	shop := write(t, "shop.yaml", parametrised)
	values := write(t, "values.yaml", "x: {a: 1, b: 2}\n")
	tests := map[string]struct {
		why  string
		args []string
		code int
		// out is all that is printed, errs a part.
		out, errs string
	}{
		"YAML":     {"documents", []string{"render", good}, 0, "---\napiVersion: v1\ndata:\n  x: \"1\"\nkind: ConfigMap\nmetadata:\n  name: a\n---\napiVersion: v1\nkind: Service\nmetadata:\n  name: a\n", "2 objects (plain) of sha256:"},
		"JSON":     {"canonical, one a line", []string{"render", good, "-o", "json"}, 0, `{"apiVersion":"v1","data":{"x":"1"},"kind":"ConfigMap","metadata":{"name":"a"}}` + "\n" + `{"apiVersion":"v1","kind":"Service","metadata":{"name":"a"}}` + "\n", ""},
		"Bad":      {"half of a bundle is not printed", []string{"render", bad}, 2, "", "bad.yaml, document 3 (line 9): apiVersion is missing"},
		"Empty":    {"nothing is no bundle", []string{"render", empty}, 2, "", "it contains no manifest"},
		"Chart":    {"values from files and flags, a name and a namespace", []string{"render", chart, "-f", values, "--set", "x.b=3", "-n", "shop", "--name", "mine", "-o", "json"}, 0, `{"apiVersion":"v1","data":{"a":"1","b":"3"},"kind":"Secret","metadata":{"name":"mine","namespace":"shop"}}` + "\n", "1 object (helm) of sha256:"},
		"NoFile":   {"values that are not there", []string{"render", chart, "-f", "nowhere"}, 2, "", "cannot read the values"},
		"Values":   {"only a chart has values", []string{"render", good, "--set", "a=b"}, 2, "", "values are given, which plain does not support"},
		"Nowhere":  {"a folder that is not there", []string{"render", "nowhere"}, 2, "", "cannot fetch nowhere: file does not exist\n"},
		"Format":   {"a format that is none", []string{"render", good, "--format", "jsonnet"}, 2, "", "it is one of plain"},
		"Output":   {"an output that is none", []string{"render", good, "-o", "xml"}, 2, "", "use yaml or json"},
		"Template": {"a file, with values for its parameters", []string{"render", shop, "--parameter", "NAME=b", "--parameter", "TEXT=x=y", "-o", "json"}, 0, `{"apiVersion":"v1","data":{"a":"x=y"},"kind":"ConfigMap","metadata":{"name":"b"}}` + "\n", "1 object (openshift-template) of sha256:"},
		"Unknown":  {"a parameter that is misspelt", []string{"render", shop, "--parameter", "NAMES=b"}, 2, "", "parameter NAMES is unknown: use NAME"},
		"NoValue":  {"half a setting", []string{"render", shop, "--parameter", "NAME"}, 2, "", `cannot use --parameter "NAME": write NAME=VALUE`},
		"NoName":   {"half a setting", []string{"render", shop, "--parameter", "=x"}, 2, "", `cannot use --parameter "=x": write NAME=VALUE`},
		"Twice":    {"one of the two would be lost", []string{"render", shop, "--parameter", "NAME=a", "--parameter", "NAME=b"}, 2, "", "cannot use --parameter NAME twice"},
		"Builtin":  {"a variant that is none", []string{"render", "builtin:selfsignd"}, 2, "", "use builtin:bundle-controller, builtin:certmanager, builtin:job-controller, builtin:network-policies, builtin:selfsigned, builtin:fleet-chart"},
		"Path":     {"a variant is a path", []string{"render", "builtin:selfsigned", "--path", "crd"}, 2, "", "cannot use --path"},
		"Setting":  {"a setting that is none", []string{"render", "builtin:selfsigned", "--set", "image=x"}, 2, "", "registry=HOST/PATH and tag=TAG"},
		"Source":   {"a source that is none", []string{"render", "ftp://x/y"}, 2, "", "does not begin with one of"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			code, out, errs := call("", tc.args...)
			assert.Equal(t, tc.code, code, tc.why)
			assert.Equal(t, tc.out, out, tc.why)
			assert.Contains(t, errs, tc.errs, tc.why)
		})
	}
}

// Orcon's own manifests need no file, and their images come from where they are said to be.
func TestRenderBuiltin(t *testing.T) {
	t.Chdir(t.TempDir())
	code, out, errs := call("", "render", "builtin:selfsigned", "--set", "registry=registry.example.org/orcon", "--set", "tag=v1")
	require.Zero(t, code, errs)
	assert.Contains(t, out, "image: registry.example.org/orcon/relations-controller:v1\n")
	assert.NotContains(t, out, "localhost/")
}

// BUNDLES.md, invariant 1: an archive is refused whole.
func TestRenderArchive(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.tgz")
	require.NoError(t, os.WriteFile(file, []byte("<html>"), 0o600))
	code, out, errs := call("", "render", file)
	assert.Equal(t, exitMisuse, code)
	assert.Empty(t, out)
	assert.Contains(t, errs, "cannot unpack the archive")
}

// What a private server gives is rendered once its checksum fits, or it is tracked; its
// credentials are shown nowhere (BUNDLES.md, invariant 10).
func TestRenderRemote(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	packed := tarOf(t, "a.yaml", twoObjects)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer hush" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write(packed)
	}))
	defer server.Close()
	sum := fmt.Sprintf("%x", sha256.Sum256(packed))
	right, wrong := write(t, "right.yaml", "token: hush\n"), write(t, "wrong.yaml", "token: [hush]\n")
	odd := write(t, "odd.yaml", "tokn: hush\n")
	tests := map[string]struct {
		why  string
		args []string
		code int
		errs string
	}{
		"Unpinned": {"it may be another tomorrow", []string{server.URL, "--credentials", right}, 2, "no host and path"},
		"Address":  {"it may be another tomorrow", []string{server.URL + "/a.tar", "--credentials", right}, 2, "add #sha256=CHECKSUM, or track it with --track"},
		"Tracked":  {"what it is today", []string{server.URL + "/a.tar", "--credentials", right, "--track"}, 0, "resolved: " + server.URL + "/a.tar#sha256=" + sum},
		"Nobody":   {"without credentials", []string{server.URL + "/a.tar#sha256=" + sum}, 2, "use credentials"},
		"Pinned":   {"its checksum fits", []string{server.URL + "/a.tar#sha256=" + sum, "--credentials", right}, 0, "2 objects (plain)"},
		"Wrong":    {"no map of texts", []string{server.URL + "/a.tar", "--credentials", wrong}, 2, "is not a YAML map of strings"},
		"Odd":      {"misspelt", []string{server.URL + "/a.tar", "--credentials", odd}, 2, `"tokn" is none of`},
		"NoFile":   {"credentials that are not there", []string{server.URL + "/a.tar", "--credentials", "nowhere"}, 2, "cannot read the credentials"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			if label == "Nobody" {
				t.Setenv("XDG_CACHE_HOME", t.TempDir())
			}
			code, out, errs := call("", append([]string{"render"}, tc.args...)...)
			assert.Equal(t, tc.code, code, tc.why)
			assert.Contains(t, errs, tc.errs, tc.why)
			assert.NotContains(t, errs+out, "hush", tc.why)
			assert.Equal(t, code == 0, out != "", "half of a bundle is not printed")
		})
	}
}

// tarOf packs one file.
func tarOf(t *testing.T, name, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	require.NoError(t, w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(text))}))
	_, err := w.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

// An error of a bundle's server is not blamed on the cluster.
func TestRenderBlamesTheSource(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	private := httptest.NewTLSServer(http.NotFoundHandler())
	private.Config.ErrorLog = log.New(io.Discard, "", 0)
	defer private.Close()
	code, _, errs := call("", "render", private.URL+"/shop.tgz", "--track")
	assert.Equal(t, exitMisuse, code)
	assert.Contains(t, errs, "add ca.crt to the credentials")
	assert.NotContains(t, errs, "kubeconfig")

	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	code, _, errs = call("", "render", gone.URL+"/shop.tgz", "--track")
	assert.Equal(t, exitMisuse, code)
	assert.Contains(t, errs, "connection refused")
	assert.NotContains(t, errs, "API server")
}
