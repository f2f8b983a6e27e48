package openshift_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/openshift"
)

// FuzzParse takes any Template and a value for one of its parameters: it is refused, or gives the same objects each
// time, as many as it has, and is left as it was.
func FuzzParse(f *testing.F) {
	for _, seed := range []struct{ template, value string }{
		{`{"objects":[{"a":"${A}","${A}":"${{A}}","metadata":{"namespace":"x"}}],"parameters":[{"name":"A"}],"labels":{"${A}":"x"}}`, "1"},
		{`{"objects":[{"a":["${{A}}"],"metadata":{"namespace":"${A}","labels":[]}}],"parameters":[{"name":"A","required":true}]}`, `{"b":null}`},
		{`{"objects":null,"parameters":[{"name":"A","generate":"expression","from":"[a-z]"}],"labels":null}`, "null"},
		{`{"objects":[[]],"parameters":{}}`, ""},
	} {
		f.Add(seed.template, seed.value)
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		var fields map[string]any
		if json.Unmarshal([]byte(text), &fields) != nil {
			return
		}
		template, err := openshift.Parse(fields)
		if err != nil {
			return
		}
		given := map[string]string{}
		for _, p := range template.Parameters {
			given[p.Name] = value
		}
		objects, err := template.Process(given)
		left, unwritable := json.Marshal(fields)
		require.NoError(t, unwritable)
		require.JSONEq(t, text, string(left))
		if err != nil {
			return
		}
		all, _ := fields["objects"].([]any)
		require.Len(t, objects, len(all))
		again, err := template.Process(given)
		require.NoError(t, err)
		require.Equal(t, objects, again)
		_, err = json.Marshal(objects)
		require.NoError(t, err)
	})
}
