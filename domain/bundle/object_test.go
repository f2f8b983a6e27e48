package bundle_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

func TestObjectID(t *testing.T) {
	tests := map[string]struct {
		why    string
		object bundle.Object
		want   bundle.ID
		text   string
	}{
		"Core":    {why: "the core has no group", object: bundle.Object{"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "db", "namespace": "shop"}}, want: bundle.ID{Kind: "Service", Namespace: "shop", Name: "db"}, text: "Service shop/db"},
		"Group":   {why: "the version does not name an object", object: bundle.Object{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web"}}, want: bundle.ID{Group: "apps", Kind: "Deployment", Name: "web"}, text: "Deployment web"},
		"Nothing": {why: "no text stops the process", object: bundle.Object{"metadata": "x"}, text: " "},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, tc.object.ID(), tc.why)
			assert.Equal(t, tc.text, tc.object.ID().String(), tc.why)
		})
	}
}

func TestObjectCanonical(t *testing.T) {
	one, err := bundle.Object{"b": int64(1), "a": map[string]any{"d": "<", "c": nil}}.Canonical()
	require.NoError(t, err)
	other, err := bundle.Object{"a": map[string]any{"c": nil, "d": "<"}, "b": int64(1)}.Canonical()
	require.NoError(t, err)
	assert.Equal(t, string(one), string(other))

	_, err = bundle.Object{"kind": "Odd", "x": math.NaN()}.Canonical()
	assert.ErrorContains(t, err, "cannot write Odd")
}
