package deployment_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/deployment"
)

func TestImagesFrom(t *testing.T) {
	const agent = `{"name":"localhost/orcon/relation-agent"`
	tests := map[string]struct {
		why      string
		settings []string
		want     string
		err      string
	}{
		"AsIs":     {why: "what the manifests say", want: agent + `,"newTag":"dev"}`},
		"Both":     {why: "a registry and a tag", settings: []string{"registry=r.example.org/orcon/", "tag=v1"}, want: agent + `,"newName":"r.example.org/orcon/relation-agent","newTag":"v1"}`},
		"Tag":      {why: "another build, from the same place", settings: []string{"tag=v1"}, want: agent + `,"newTag":"v1"}`},
		"Registry": {why: "as builder publishes without --tag", settings: []string{"registry=r.example.org"}, want: agent + `,"newName":"r.example.org/relation-agent","newTag":"dev"}`},
		"Quotes":   {why: "a text stays a text", settings: []string{`tag=1", "x`}, want: `"newTag":"1\", \"x"`},
		"Setting":  {why: "misspelt", settings: []string{"tags=v1"}, err: "registry=HOST/PATH and tag=TAG"},
		"NoValue":  {why: "half a setting", settings: []string{"tag="}, err: "registry=HOST/PATH and tag=TAG"},
		"TagTwice": {why: "which?", settings: []string{"tag=a", "tag=b"}, err: "each once"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			text, err := deployment.ImagesFrom(tc.settings...)
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err, tc.why)
				return
			}
			require.NoError(t, err, tc.why)
			assert.Contains(t, string(text), tc.want, tc.why)
		})
	}
}

// The comment above the list shows how an image is replaced, and is none of them.
func TestImages(t *testing.T) {
	for _, name := range []string{"relations-controller", "relations-mutating-webhook", "relation-agent"} {
		assert.Contains(t, deployment.Images(), "localhost/orcon/"+name)
	}
	assert.Len(t, slices.Compact(slices.Sorted(slices.Values(deployment.Images()))), len(deployment.Images()))
}

// Whatever is set, what comes has each image once, or is an error.
func FuzzImagesFrom(f *testing.F) {
	f.Add("registry=r.example.org/a", "tag=v1")
	f.Add("tag=\n- x: y", "registry=/")
	f.Fuzz(func(t *testing.T, one, two string) {
		text, err := deployment.ImagesFrom(one, two)
		if err != nil {
			return
		}
		var read struct{ Images []map[string]string }
		require.NoError(t, json.Unmarshal(text, &read))
		require.Len(t, read.Images, len(deployment.Images()))
	})
}
