package schema_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
)

// FuzzParse takes any text for an interface: what is accepted fits itself, can be
// compared and judges bags.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("library", "*.yaml"))
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(string(text))
	}
	f.Add(head + fields("a: {description: A., $ref: '#/$defs/b'}"))
	f.Add(head + "both: {unit: {schema: {additionalProperties: {if: {const: a}, then: {pattern: ^b}}, $defs: {d: {items: true}}}}}")
	f.Fuzz(func(t *testing.T, text string) {
		i, problems := schema.Parse([]byte(text))
		again, same := schema.Parse([]byte(text))
		require.Equal(t, problems, same)
		require.Equal(t, i.Bags[0].Fields, again.Bags[0].Fields)
		for _, p := range problems {
			require.NotEmpty(t, p.Reason)
		}
		if len(problems) > 0 {
			require.Equal(t, schema.Interface{}, i)
			return
		}
		require.NotEmpty(t, i.Name)
		for _, v := range schema.Evolves(i, again) {
			require.Contains(t, v.Reason, "canonical", "an interface follows itself")
		}
		for _, e := range ends() {
			i.Check(e.role, e.isApplication, map[string]string{"a": "b", "host": "[1]", "c": `{"a": [true]}`})
		}
	})
}

// FuzzCheck puts any value into a field of a schema that has all sorts of them.
func FuzzCheck(f *testing.F) {
	i := parse(f, `both:
  application:
    secret: [s]
    schema:
      $defs: {d: {type: [array, object], additionalProperties: {type: integer}, items: {multipleOf: 0.5}, uniqueItems: true}}
      properties:
        s: {description: A secret.}
        j: {description: JSON., contentMediaType: application/json, contentSchema: {$ref: '#/$defs/d'}}
        u: {description: A URI., format: uri}
        t: {description: A time., format: date-time}
        e: {description: An address., format: email}
        r: {description: A pattern., format: regex}
        p: {description: A text., pattern: '^(a|b)*c$', maxLength: 99}
      patternProperties: {'^x[0-9]*$': {enum: ["1", "2"]}}
      additionalProperties: false
`)
	for _, key := range []string{"s", "j", "u", "t", "e", "r", "p", "x1", "host", "other"} {
		f.Add(key, "secret:0123456789abcdefghij")
		f.Add(key, `[{"a": [1, 1.5, "b", null, 1e300]}]`)
		f.Add(key, "http://[::1%25en0]:80/a?b#c")
	}
	f.Fuzz(func(t *testing.T, key, value string) {
		bag := map[string]string{key: value, "x": "1"}
		found := i.Check(application.Provider, true, bag)
		require.Equal(t, found, i.Check(application.Provider, true, bag))
		for _, v := range found {
			require.NotEmpty(t, v.Reason)
		}
		_, reference := schema.Reference(value)
		if key == "s" && value != "" && len(value) <= databag.MaxValue {
			require.Equal(t, reference, len(found) == 0)
		}
	})
}
