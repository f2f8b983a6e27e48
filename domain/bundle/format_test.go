package bundle_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

func TestParseFormat(t *testing.T) {
	tests := map[string]struct {
		why, text string
		files     map[string]string
		want      bundle.Format
	}{
		"Plain":        {why: "nothing says otherwise", files: map[string]string{"a.yaml": ""}, want: bundle.Plain},
		"Chart":        {why: "its own file", files: map[string]string{"Chart.yaml": "", "templates/a.yaml": ""}, want: bundle.Helm},
		"PackedChart":  {why: "packed with its folder", files: map[string]string{"shop/Chart.yaml": "", "shop/templates/a.yaml": ""}, want: bundle.Helm},
		"ChartBeside":  {why: "other files are no part of a chart", files: map[string]string{"shop/Chart.yaml": "", "a.yaml": ""}, want: bundle.Plain},
		"Kustomize":    {why: "its own file", files: map[string]string{"kustomization.yml": ""}, want: bundle.Kustomize},
		"Registry":     {why: "both of its folders", files: map[string]string{"metadata/annotations.yaml": "", "manifests/a.yaml": ""}, want: bundle.RegistryV1},
		"HalfRegistry": {why: "one of its folders", files: map[string]string{"metadata/annotations.yaml": ""}, want: bundle.Plain},
		"Template":     {why: "only its content differs", text: "openshift-template", files: map[string]string{"a.yaml": ""}, want: bundle.OpenShiftTemplate},
		"Said":         {why: "who says it is right", text: "plain", files: map[string]string{"Chart.yaml": ""}, want: bundle.Plain},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			tree := treeOf(t, tc.files)
			got, err := bundle.ParseFormat(tc.text, &tree)
			require.NoError(t, err, tc.why)
			assert.Equal(t, tc.want, got, tc.why)
		})
	}
	_, err := bundle.ParseFormat("helm3", &bundle.Tree{})
	assert.ErrorContains(t, err, "it is one of plain, helm, registry-v1, kustomize, openshift-template")
}

func TestInputDigest(t *testing.T) {
	base := bundle.Input{Content: "sha256:x", Format: bundle.Helm, Name: "shop", Values: map[string]any{"a": int64(1), "b": "c"}}
	digest := func(change func(*bundle.Input)) string {
		in := base
		change(&in)
		text, err := in.Digest()
		require.NoError(t, err)
		return text
	}
	same := digest(func(*bundle.Input) {})
	assert.Equal(t, same, digest(func(i *bundle.Input) { i.Values = map[string]any{"b": "c", "a": int64(1)} }))
	assert.NotEqual(t, same, digest(func(i *bundle.Input) { i.Values = nil }))
	assert.NotEqual(t, same, digest(func(i *bundle.Input) { i.Namespace = "other" }))
	assert.NotEqual(t, same, digest(func(i *bundle.Input) { i.Parameters = map[string]string{"A": "x"} }))
	assert.Equal(t, same, digest(func(i *bundle.Input) { i.Parameters = map[string]string{} }), "digests of before there were any stay")
	assert.NotEqual(t, same, digest(func(i *bundle.Input) { i.Renderer = "helm v9" }))

	_, err := bundle.Input{Values: map[string]any{"x": math.Inf(1)}}.Digest()
	assert.ErrorContains(t, err, "values")
}
