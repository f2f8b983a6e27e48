package main

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

// A bundle of Qontract means what its files mean, and a broken one is an error with a place (FLEET.md D5).
func TestFleetBundle(t *testing.T) {
	const chart, folder = "../../deployment/examples/fleet/chart", "../../deployment/examples/fleet/data"
	files := map[string]any{}
	require.NoError(t, fs.WalkDir(os.DirFS(folder), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(os.DirFS(folder), name)
		require.NoError(t, err)
		var content any
		require.NoError(t, yaml.Unmarshal(text, &content))
		files["/"+name] = content
		return nil
	}))
	text, err := json.Marshal(map[string]any{"git_commit": "c", "data": files, "resources": map[string]any{}})
	require.NoError(t, err)
	whole, cut := write(t, "bundle.json", string(text)), write(t, "bundle.json", string(text[:len(text)/2]))

	code, out, errs := call("", "fleet", "plan", chart, "--data", whole, "--base", folder)
	assert.Equal(t, 0, code, errs)
	assert.Empty(t, out)
	code, out, _ = call("", "fleet", "render", chart, "--data", whole, "--integration", "report", "--environment", "stage")
	assert.Equal(t, 0, code)
	assert.Contains(t, out, "environment stage (/integrations/report.yml#/managed/0)\n")
	code, out, errs = call("", "fleet", "plan", chart, "--data", cut, "--base", folder)
	assert.Equal(t, 2, code)
	assert.Empty(t, out)
	assert.Contains(t, errs, "cannot use bundle bundle.json: it breaks off at byte")
}

// A GraphQL server gives data, which must be tracked, and no chart (FLEET.md D5).
func TestFleetGraphQL(t *testing.T) {
	const chart = "../../deployment/examples/fleet/chart"
	empty := httptest.NewServer(http.NotFoundHandler())
	defer empty.Close()
	server := "graphql+" + empty.URL + "/graphql"
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"fleet", "render", chart, "--data", server}, "a GraphQL server has no more than its latest data, so its content may change: track it with --track"},
		{[]string{"fleet", "render", chart, "--data", server, "--track"}, "cannot fetch " + server + ": cannot ask which data the server has"},
		{[]string{"fleet", "render", server, "--data", chart, "--track"}, "has the data of a fleet and no manifests"},
		{[]string{"render", server, "--track"}, "has the data of a fleet and no manifests"},
	} {
		code, _, errs := call("", test.args...)
		assert.NotZero(t, code)
		assert.Contains(t, errs, test.want)
	}
}
