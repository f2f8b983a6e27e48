package bundle_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Objects stand where the cluster, or the bundle's own definitions, say that their kind does.
func TestPlace(t *testing.T) {
	namespaced := func(_, kind string) (bool, bool, error) {
		return kind != "Role", kind != "Engine" && kind != "Stray", nil
	}
	bare := func(kind string) bundle.Object {
		return bundle.Object{"apiVersion": "race.example.org/v1", "kind": kind, "metadata": map[string]any{"name": "a"}}
	}
	definition := engine()
	definition["spec"].(map[string]any)["scope"] = "Namespaced"

	tests := map[string]struct {
		why  string
		in   bundle.Object
		want string
	}{
		"Inside":        {"an object without a namespace goes into the deployment's", bare("ConfigMap"), "here"},
		"ItsOwn":        {"a namespace that its author wrote stays", object("ConfigMap a"), "shop"},
		"Cluster":       {"what belongs to the cluster has none, whatever its author wrote", object("Role a"), ""},
		"DefinedByUs":   {"a kind that comes with the bundle is where its definition says", bare("Engine"), "here"},
		"DefinedByNone": {"what nobody knows stays as it is: the plan tells", bare("Stray"), ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			placed, err := bundle.Place([]bundle.Object{definition, test.in}, "here", namespaced)
			require.NoError(t, err)
			assert.Equal(t, test.want, placed[1].ID().Namespace, test.why)
		})
	}
}

// What a Secret says in clear text goes where it can be compared, over what is there.
func TestPlaceEncodesSecrets(t *testing.T) {
	in := object("Secret a", map[string]any{"stringData": map[string]any{"password": "hunter2"}, "data": map[string]any{"user": "YQ==", "password": "b2xk"}})
	placed, err := bundle.Place([]bundle.Object{in}, "here", func(string, string) (bool, bool, error) { return true, true, nil })
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"user": "YQ==", "password": "aHVudGVyMg=="}, placed[0]["data"])
	assert.NotContains(t, placed[0], "stringData")
	assert.Contains(t, in, "stringData", "the author's object is left as it is")
}

// A number where a text must be is a fault of the author's, told without what it is.
func TestPlaceRefusesSecrets(t *testing.T) {
	for _, field := range []string{"data", "stringData"} {
		for _, value := range []any{int64(27182818), 27182818.5, true, nil, map[string]any{"in": "27182818"}} {
			in := object("Secret a", map[string]any{field: map[string]any{"pin": value}})
			_, err := bundle.Place([]bundle.Object{in}, "here", func(string, string) (bool, bool, error) { return true, true, nil })
			require.EqualError(t, err, "cannot use Secret shop/a: "+field+".pin is not a string: put it in quotes")
		}
	}
}
