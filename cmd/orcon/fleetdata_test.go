package main

import (
	"encoding/json"
	"io/fs"
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
