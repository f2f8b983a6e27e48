package jsonpatch_test

import (
	"encoding/json"
	"testing"

	evanphx "github.com/evanphx/json-patch/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/jsonpatch"
)

func TestAppend(t *testing.T) {
	operations := []jsonpatch.Operation{
		{Op: "add", Path: "/labels/" + jsonpatch.Pointer("a/b~c"), Value: json.RawMessage(`"ü"`)},
		{Op: "remove", Path: "/labels/old"},
	}
	text := jsonpatch.Append(nil, operations)
	assert.JSONEq(t, `[{"op":"add","path":"/labels/a~1b~0c","value":"ü"},{"op":"remove","path":"/labels/old"}]`, string(text))
	patch, err := evanphx.DecodePatch(text)
	require.NoError(t, err)
	patched, err := patch.Apply([]byte(`{"labels":{"old":"1"}}`))
	require.NoError(t, err)
	assert.JSONEq(t, `{"labels":{"a/b~c":"ü"}}`, string(patched))
	assert.Equal(t, "[]", string(jsonpatch.Append(nil, nil)))
}

// Every text is written as the standard library reads it.
func FuzzAppendString(f *testing.F) {
	for _, text := range []string{"", "plain", `"quoted"`, `back\slash`, "new\nline", "<&>", "ü", "\xff", "\x7f"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var read, want string
		require.NoError(t, json.Unmarshal(jsonpatch.AppendString(nil, text), &read))
		encoded, err := json.Marshal(text)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(encoded, &want))
		assert.Equal(t, want, read)
	})
}
