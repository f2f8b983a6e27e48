package contract_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
)

// JOBS.md J14: a sensitive output is in no file that people read, and has its value beside.
func TestPart(t *testing.T) {
	for label, c := range map[string]struct {
		why, file, rest string
		named           []string
		secret          map[string]string
	}{
		"None":  {"a file without one stays as it is", ` {"a": 1.50}`, ` {"a": 1.50}`, []string{"b"}, nil},
		"Empty": {"there are no outputs", "", "", nil, nil},
		"OpenTofu": {"as tofu output -json marks it", `{"p": {"sensitive": true, "type": "string", "value": "x\"y"}, "q": {"sensitive": false, "value": 1}}`,
			`{"p":{"sensitive":true},"q":{"sensitive":false,"value":1}}`, nil, map[string]string{"p": `x"y`}},
		"Named": {"by the template", `{"a": "x", "b": {"c": [1]}, "d": null}`, `{"a":{"sensitive":true},"b":{"sensitive":true},"d":{"sensitive":true}}`,
			[]string{"a", "b", "d"}, map[string]string{"a": "x", "b": `{"c":[1]}`, "d": "null"}},
		"Other": {"an object of the template's own", `{"a": {"sensitive": true}, "b": {"sensitive": 1, "value": 2}}`,
			`{"a": {"sensitive": true}, "b": {"sensitive": 1, "value": 2}}`, nil, nil},
	} {
		t.Run(label, func(t *testing.T) {
			rest, secret, err := contract.Part(c.file, c.named)
			require.NoError(t, err)
			assert.Equal(t, c.rest, rest, c.why)
			var got map[string]string
			for _, one := range secret {
				if got == nil {
					got = map[string]string{}
				}
				got[one.Name] = one.Text()
			}
			assert.Equal(t, c.secret, got, c.why)
		})
	}
	_, _, err := contract.Part("[]", nil)
	require.ErrorContains(t, err, "it is not a JSON object")
}

// JOBS.md J19: outputs are texts, and sensitive ones are not among them.
func TestData(t *testing.T) {
	values, sensitive, err := contract.Data(`{"host": "db", "port": 5432, "tags": ["a"], "url": {"sensitive": false, "type": "string", "value": "x"}}`)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"host": "db", "port": "5432", "tags": `["a"]`, "url": "x"}, values)
	assert.False(t, sensitive)
	values, sensitive, err = contract.Data(`{"password": {"sensitive": true}}`)
	require.NoError(t, err)
	assert.Empty(t, values)
	assert.True(t, sensitive)
	_, _, err = contract.Data("[]")
	require.Error(t, err)
}

// JOBS.md J14: an output that has a secret is sensitive, and so is one of another form.
func TestMark(t *testing.T) {
	secret := func(value string) bool { return strings.Contains(value, "s3cret") }
	got, err := contract.Mark(`{"a": "s3cret", "b": 1, "c": {"sensitive": true, "value": "s3cret"}, "d": {"sensitive": false, "value": "s3cret"}}`, secret)
	require.NoError(t, err)
	rest, hidden, err := contract.Part(got, nil)
	require.NoError(t, err)
	assert.JSONEq(t, `{"a":{"sensitive":true},"b":1,"c":{"sensitive":true},"d":{"sensitive":true}}`, rest)
	require.Len(t, hidden, 3)
	assert.Equal(t, []string{"s3cret", "s3cret", "s3cret"}, []string{hidden[0].Text(), hidden[1].Text(), hidden[2].Text()})
	same, err := contract.Mark(` {"b": 1}`, secret)
	require.NoError(t, err)
	assert.Equal(t, ` {"b": 1}`, same)
	_, err = contract.Mark("[]", secret)
	require.Error(t, err)
}

// FuzzPart: what is parted is a file of outputs again, with the same names.
func FuzzPart(f *testing.F) {
	f.Add(`{"a": {"sensitive": true, "value": 1}, "b": "x"}`, "b")
	f.Fuzz(func(t *testing.T, file, name string) {
		before, err := contract.ParseOutputs([]byte(file))
		if err != nil {
			return
		}
		marked, err := contract.Mark(file, func(value string) bool { return len(value) > 3 })
		if err != nil {
			return // it became too long
		}
		rest, secret, err := contract.Part(marked, []string{name})
		require.NoError(t, err)
		after, err := contract.ParseOutputs([]byte(rest))
		require.NoError(t, err)
		require.Len(t, after, len(before))
		for i := range after {
			assert.Equal(t, before[i].Name, after[i].Name)
		}
		for _, one := range secret {
			_ = one.Text()
		}
	})
}
