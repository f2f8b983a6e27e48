package openshift_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/openshift"
)

// A text of pieces becomes the pieces with each known reference replaced, whatever the values are: they may look
// like references themselves.
func TestTextProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := map[string]string{}
		for _, name := range []string{"A", "B_1", "c"} {
			values[name] = rapid.StringMatching(`(\$|\{|\}|A|c|x|\$\{A\}|\$\{c\})*`).Draw(t, name)
		}
		var text, want strings.Builder
		for range rapid.IntRange(0, 6).Draw(t, "pieces") {
			if literal := rapid.StringMatching(`(\$?[a-z ]+|\$\{(HOME|a b)\})`).Draw(t, "literal"); rapid.Bool().Draw(t, "is literal") {
				text.WriteString(literal)
				want.WriteString(literal)
				continue
			}
			name := rapid.SampledFrom(slices.Sorted(maps.Keys(values))).Draw(t, "name")
			text.WriteString("${" + name + "}")
			want.WriteString(values[name])
		}
		template := parsed(t, text.String(), slices.Sorted(maps.Keys(values))...)
		objects, err := template.Process(values)
		require.NoError(t, err)
		require.Equal(t, []map[string]any{{"a": want.String()}}, objects)
		again, err := template.Process(values)
		require.NoError(t, err)
		require.Equal(t, objects, again, "equal input, equal objects")
	})
}

// Any JSON that a whole value refers to is there as it was.
func TestWholeProperty(t *testing.T) {
	value := rapid.Deferred(func() *rapid.Generator[any] { return jsonOf(3) })
	rapid.Check(t, func(t *rapid.T) {
		text, err := json.Marshal(value.Draw(t, "value"))
		require.NoError(t, err)
		objects, err := parsed(t, "${{A}}", "A").Process(map[string]string{"A": string(text)})
		require.NoError(t, err)
		written, err := json.Marshal(objects[0])
		require.NoError(t, err)
		if string(text) == "null" {
			require.Equal(t, "{}", string(written))
			return
		}
		require.JSONEq(t, `{"a":`+string(text)+`}`, string(written))
	})
}

// jsonOf generates values of JSON that are at most so deep.
func jsonOf(deep int) *rapid.Generator[any] {
	kinds := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.Int64().AsAny(), rapid.Float64().AsAny(), rapid.String().AsAny(),
	}
	if deep > 0 {
		kinds = append(kinds, rapid.SliceOfN(jsonOf(deep-1), 0, 3).AsAny(), rapid.MapOfN(rapid.String(), jsonOf(deep-1), 0, 3).AsAny())
	}
	return rapid.OneOf(kinds...)
}

// parsed returns a Template with one object, whose field a is a text, and with parameters.
func parsed(t require.TestingT, text string, names ...string) openshift.Template {
	var parameters []any
	for _, name := range names {
		parameters = append(parameters, map[string]any{"name": name})
	}
	template, err := openshift.Parse(map[string]any{"objects": []any{map[string]any{"a": text}}, "parameters": parameters})
	require.NoError(t, err)
	return template
}
