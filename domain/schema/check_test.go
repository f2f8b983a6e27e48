package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
)

// head begins a document.
const head = "name: test\nversion: 1\ndescription: For tests.\n"

// parse reads a document without its head.
func parse(t testing.TB, text string) schema.Interface {
	t.Helper()
	i, problems := schema.Parse([]byte(head + text))
	require.Empty(t, problems)
	return i
}

// fields makes a document whose provider has these fields in its application bag.
func fields(properties string) string {
	return "provider: {application: {schema: {properties: {" + properties + "}}}}"
}

func TestCheck(t *testing.T) {
	tests := map[string]struct {
		why    string
		schema string // of the field f
		value  string
		want   []schema.Violation
	}{
		"Fits":       {why: "nothing to tell", schema: "type: string, pattern: ^a", value: "abc"},
		"Anything":   {why: "a field of which nothing is said holds anything", schema: "title: x", value: "\x00"},
		"Empty":      {why: "RELATIONS.md P3: an empty value is no value", schema: "minLength: 3", value: ""},
		"Pattern":    {why: "what was expected is told, what was found is not", schema: "pattern: ^a", value: "hunter2", want: []schema.Violation{{Path: "f", Reason: "it does not match the pattern", Expected: "^a", Schema: "/properties/f/pattern"}}},
		"Words":      {why: "a number of digits is said in words", schema: "pattern: '^[0-9]{1,5}$'", value: "hunter2", want: []schema.Violation{{Path: "f", Reason: "it does not match the pattern", Expected: "1 to 5 digits (^[0-9]{1,5}$)", Schema: "/properties/f/pattern"}}},
		"Enum":       {why: "the allowed values are told", schema: "enum: [a, b]", value: "hunter2", want: []schema.Violation{{Path: "f", Reason: "it is not one of the allowed values", Expected: `"a", "b"`, Schema: "/properties/f/enum"}}},
		"Const":      {why: "one allowed value", schema: "const: a", value: "hunter2", want: []schema.Violation{{Path: "f", Reason: "it is another value than the only one allowed", Expected: `"a"`, Schema: "/properties/f/const"}}},
		"Format":     {why: "formats are checked", schema: "format: ipv4", value: "hunter2", want: []schema.Violation{{Path: "f", Reason: "it is not of the format ipv4", Schema: "/properties/f/format"}}},
		"Regex":      {why: "SAFETY.md S5: a text that is to be a pattern is held to the limits of patterns", schema: "format: regex", value: "a{1000}", want: []schema.Violation{{Path: "f", Reason: "it is not of the format regex", Schema: "/properties/f/format"}}},
		"Length":     {why: "characters, not bytes", schema: "maxLength: 2", value: "äöü", want: []schema.Violation{{Path: "f", Reason: "it is too long", Expected: "at most 2 characters", Schema: "/properties/f/maxLength"}}},
		"Two":        {why: "all at once, in order", schema: "pattern: ^a, minLength: 9", value: "b", want: []schema.Violation{{Path: "f", Reason: "it is too short", Expected: "at least 9 characters", Schema: "/properties/f/minLength"}, {Path: "f", Reason: "it does not match the pattern", Expected: "^a", Schema: "/properties/f/pattern"}}},
		"Not":        {why: "what is excluded", schema: "not: {const: a}", value: "a", want: []schema.Violation{{Path: "f", Reason: "the value is excluded", Schema: "/properties/f"}}},
		"AnyOf":      {why: "of several ways none is told in detail: which was meant nobody knows", schema: "anyOf: [{const: a}, {const: b}]", value: "c", want: []schema.Violation{{Path: "f", Reason: "it fits none of the allowed ways", Schema: "/properties/f/anyOf"}}},
		"OneOf":      {why: "two ways at once", schema: "oneOf: [{minLength: 1}, {maxLength: 9}]", value: "c", want: []schema.Violation{{Path: "f", Reason: "it fits not exactly one of the allowed ways", Schema: "/properties/f/oneOf"}}},
		"AllOf":      {why: "of all ways each is told", schema: "allOf: [{const: a}, {minLength: 1}]", value: "c", want: []schema.Violation{{Path: "f", Reason: "it is another value than the only one allowed", Expected: `"a"`, Schema: "/properties/f/allOf/0/const"}}},
		"Twice":      {why: "what is reached in two ways is told once", schema: "allOf: [{$ref: '#/$defs/d'}, {$ref: '#/$defs/d'}]", value: "c", want: []schema.Violation{{Path: "f", Reason: "it is too short", Expected: "at least 2 characters", Schema: "/$defs/d/minLength"}}},
		"JSON":       {why: "JSON is JSON to its end", schema: json(""), value: `{"a": 1} 2`, want: []schema.Violation{{Path: "f", Reason: "it is not JSON, as byte 10 shows", Expected: "JSON", Schema: "/properties/f/contentMediaType"}}},
		"JSONAny":    {why: "any JSON will do", schema: json(""), value: `[null]`},
		"JSONType":   {why: "inside it types count", schema: json("type: array"), value: `{}`, want: []schema.Violation{{Path: "f", Reason: "it is of type object", Expected: "array", Schema: "/properties/f/contentSchema/type"}}},
		"JSONDeep":   {why: "the path leads inside", schema: json("items: {properties: {a/b: {type: integer}}}"), value: `[{}, {"a/b": 1.5}]`, want: []schema.Violation{{Path: "f/1/a/b", Reason: "it is of type number", Expected: "integer", Schema: "/properties/f/contentSchema/items/properties/a~1b/type"}}},
		"JSONNames":  {why: "one violation for each name", schema: json("required: [a, b], additionalProperties: false, properties: {a: {}, b: {}}"), value: `{"c": 1}`, want: []schema.Violation{{Path: "f/a", Reason: "it is missing", Schema: "/properties/f/contentSchema/required"}, {Path: "f/b", Reason: "it is missing", Schema: "/properties/f/contentSchema/required"}, {Path: "f/c", Reason: "there is no such name here", Schema: "/properties/f/contentSchema/additionalProperties"}}},
		"Dependent":  {why: "a name that another demands", schema: json("dependentRequired: {a: [b]}"), value: `{"a": 1}`, want: []schema.Violation{{Path: "f/b", Reason: "it is missing, and where a is it must be too", Schema: "/properties/f/contentSchema/dependentRequired/a"}}},
		"Contains":   {why: "counted items", schema: json("contains: {const: 1}, minContains: 2"), value: `[1]`, want: []schema.Violation{{Path: "f", Reason: "it has 1 items of the kind that is counted", Expected: "at least 2", Schema: "/properties/f/contentSchema/minContains"}}},
		"ContainsNo": {why: "and none of them", schema: json("contains: {const: 1}"), value: `[2]`, want: []schema.Violation{{Path: "f", Reason: "no item has the required kind", Schema: "/properties/f/contentSchema/contains"}}},
		"ContainsUp": {why: "or too many", schema: json("contains: {const: 1}, maxContains: 1"), value: `[1, 1]`, want: []schema.Violation{{Path: "f", Reason: "it has too many items of the kind that is counted", Expected: "at most 1", Schema: "/properties/f/contentSchema/maxContains"}}},
		"False":      {why: "what may never be", schema: json("properties: {a: false}"), value: `{"a": 1}`, want: []schema.Violation{{Path: "f/a", Reason: "nothing may be here", Schema: "/properties/f/contentSchema/properties/a"}}},
		"Items":      {why: "the number of items", schema: json("maxItems: 1"), value: `[1, 2]`, want: []schema.Violation{{Path: "f", Reason: "it has 2 items", Expected: "at most 1", Schema: "/properties/f/contentSchema/maxItems"}}},
		"Names":      {why: "or names", schema: json("minProperties: 1"), value: `{}`, want: []schema.Violation{{Path: "f", Reason: "it has 0 names", Expected: "at least 1", Schema: "/properties/f/contentSchema/minProperties"}}},
		"Largest":    {why: "the other limits of numbers", schema: json("items: {maximum: 1, exclusiveMaximum: 2, exclusiveMinimum: 1000}"), value: `[2]`, want: []schema.Violation{{Path: "f/0", Reason: "it is too large", Expected: "less than 2", Schema: "/properties/f/contentSchema/items/exclusiveMaximum"}, {Path: "f/0", Reason: "it is too small", Expected: "more than 1000", Schema: "/properties/f/contentSchema/items/exclusiveMinimum"}, {Path: "f/0", Reason: "it is too large", Expected: "at most 1", Schema: "/properties/f/contentSchema/items/maximum"}}},
		"Multiple":   {why: "and of steps", schema: json("multipleOf: 0.5"), value: `0.75`, want: []schema.Violation{{Path: "f", Reason: "it does not divide evenly", Expected: "a multiple of 0.5", Schema: "/properties/f/contentSchema/multipleOf"}}},
		"LongEnum":   {why: "of many allowed values the first are told", schema: "enum: [" + numbered(14) + "]", value: "x", want: []schema.Violation{{Path: "f", Reason: "it is not one of the allowed values", Expected: `"v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", 2 more`, Schema: "/properties/f/enum"}}},
		"Name":       {why: "a name that would garble a log is quoted, a long one cut", schema: json("additionalProperties: false"), value: `{"a\nb": 1}`, want: []schema.Violation{{Path: `f/"a\nb"`, Reason: "there is no such name here", Schema: "/properties/f/contentSchema/additionalProperties"}}},
		"Sizes":      {why: "limits are told as decimals", schema: json("minimum: 0.5"), value: `0.25`, want: []schema.Violation{{Path: "f", Reason: "it is too small", Expected: "at least 0.5", Schema: "/properties/f/contentSchema/minimum"}}},
		"Huge":       {why: "SAFETY.md S5: a number of a thousand million digits is not calculated with", schema: json("type: integer"), value: `1e999999999`, want: []schema.Violation{{Path: "f", Reason: "it is not JSON that can be read: a number in it is too large", Expected: "JSON", Schema: "/properties/f/contentMediaType"}}},
		"Many":       {why: "SAFETY.md S5: what each of many items costs is limited by how many there are", schema: json("type: array"), value: "[" + strings.Repeat("1,", schema.MaxJSONValues-1) + "1]", want: []schema.Violation{{Path: "f", Reason: "it is JSON with more than 4096 values or 32 levels", Expected: "JSON", Schema: "/properties/f/contentMediaType"}}},
		"NotMany":    {why: "the limit itself is allowed", schema: json("type: array"), value: "[" + strings.Repeat("1,", schema.MaxJSONValues-2) + "1]"},
		"Levels":     {why: "SAFETY.md S5: nor is it deep", schema: json(""), value: strings.Repeat("[", 33) + strings.Repeat("]", 33), want: []schema.Violation{{Path: "f", Reason: "it is JSON with more than 4096 values or 32 levels", Expected: "JSON", Schema: "/properties/f/contentMediaType"}}},
		"NotLevels":  {why: "the limit itself is allowed", schema: json(""), value: strings.Repeat("[", 32) + strings.Repeat("]", 32)},
		"Steps":      {why: "SAFETY.md S5: a long text is not held against a costly pattern", schema: "pattern: '^a{200}a*$'", value: strings.Repeat("a", 60000), want: []schema.Violation{{Path: "f", Reason: "it is too long for its pattern to be checked", Expected: "fewer characters", Schema: "/properties/f/pattern"}}},
		"NotSteps":   {why: "and against a simple one it is", schema: "pattern: '^a*$'", value: strings.Repeat("a", 60000)},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			i := parse(t, "provider: {application: {schema: {$defs: {d: {minLength: 2}}, properties: {f: {description: A field., "+tc.schema+"}}}}}")
			assert.Equal(t, tc.want, i.Check(application.Provider, true, map[string]string{"f": tc.value}), tc.why)
			assert.Empty(t, i.Check(application.Requirer, true, map[string]string{"f": tc.value}), "the other side's bag is another")
		})
	}
}

// json is a field's schema of JSON with that content.
func json(content string) string {
	if content == "" {
		return "contentMediaType: application/json"
	}
	return "type: string, contentMediaType: application/json, contentSchema: {" + content + "}"
}

// Two values that are JSON and both wrong are told each at its own place: the
// library, given the whole bag, told the same place twice.
func TestCheckTellsSeveralJSONFieldsApart(t *testing.T) {
	i := parse(t, fields("a: {description: A., "+json("type: array")+"}, b: {description: B., "+json("type: array")+"}, c: {description: C.}"))
	for range 50 { // the order of a map is another each time
		found := i.Check(application.Provider, true, map[string]string{"a": "{}", "b": "{}", "c": "{}"})
		require.Len(t, found, 2)
		assert.Equal(t, "a", found[0].Path)
		assert.Equal(t, "b", found[1].Path)
	}
}

func TestCheckUndeclaredKeys(t *testing.T) {
	bag := map[string]string{"x-one": "long", "other": "long"}
	tests := map[string]struct {
		why, schema string
		want        []string
	}{
		"Open":     {why: "without a word about them they are free", schema: "{}"},
		"Closed":   {why: "a closed bag has no others", schema: "{additionalProperties: false}", want: []string{"other", "x-one"}},
		"Judged":   {why: "one schema for all others", schema: "{additionalProperties: {maxLength: 2}}", want: []string{"other", "x-one"}},
		"Patterns": {why: "names that match are judged and are no others", schema: "{patternProperties: {^x-: {maxLength: 2}}, additionalProperties: false}", want: []string{"other", "x-one"}},
		"JSON":     {why: "they too may be JSON, whatever the pattern's letters", schema: "{patternProperties: {'^x-~[/%20]?|^x': {" + json("type: array") + "}}}", want: []string{"x-one"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			i := parse(t, "requirer: {unit: {schema: "+tc.schema+"}}")
			var at []string
			for _, v := range i.Check(application.Requirer, false, bag) {
				at = append(at, v.Path)
			}
			assert.Equal(t, tc.want, at, tc.why)
		})
	}
}

// Of RELATIONS.md P5: a secret field takes a reference and nothing else, the
// refusal says how to do it right, and what was written is in no violation.
func TestSecrets(t *testing.T) {
	i := parse(t, "provider: {application: {secret: [password], schema: {properties: {password: {description: A password.}}}}, unit: {secret: [token], schema: {properties: {token: {description: A token.}}}}}")
	assert.True(t, i.Secret(application.Provider, true, "password"))
	assert.False(t, i.Secret(application.Provider, false, "password"))
	assert.False(t, i.Secret(application.Requirer, true, "password"))
	assert.False(t, i.Secret(application.Provider, true, "host"))
	assert.Empty(t, i.Check(application.Provider, true, map[string]string{"password": "secret:abcdefghijklmnopqr09"}))
	assert.Empty(t, i.Check(application.Provider, true, map[string]string{"password": ""}), "RELATIONS.md P3: it is taken away")
	found := i.Check(application.Provider, true, map[string]string{"password": "hunter2"})
	require.Len(t, found, 1)
	assert.Equal(t, "/properties/password", found[0].Schema)
	assert.Contains(t, found[0].Expected, "secret-add password#file=")
	assert.Contains(t, found[0].Expected, "relation-set --app password=$id", "the leader writes the application's bag")
	assert.NotContains(t, found[0].Error(), "hunter2")
	found = i.Check(application.Provider, false, map[string]string{"token": "hunter2"})
	require.Len(t, found, 1)
	assert.Contains(t, found[0].Expected, "relation-set token=$id")
}

func TestReference(t *testing.T) {
	tests := map[string]struct {
		why, value, want string
	}{
		"Right":   {"20 letters and digits", "secret:0123456789abcdefghij", "0123456789abcdefghij"},
		"Short":   {"one too few", "secret:0123456789abcdefghi", ""},
		"Long":    {"one too many", "secret:0123456789abcdefghijk", ""},
		"Capital": {"ids are lower case", "secret:0123456789abcdefghiJ", ""},
		"Other":   {"letters of ASCII", "secret:0123456789abcdefghé", ""},
		"Inside":  {"a character in the middle", "secret:0123456789-bcdefghij", ""},
		"Spaces":  {"nothing before or after", " secret:0123456789abcdefghij", ""},
		"Bare":    {"an id alone is a password like another", "0123456789abcdefghij", ""},
		"Juju":    {"not Juju's long form", "secret://uuid/0123456789abcdefghij", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			id, ok := schema.Reference(tc.value)
			assert.Equal(t, tc.want, id, tc.why)
			assert.Equal(t, tc.want != "", ok, tc.why)
		})
	}
}

// A schema within its limits and a bag within its own still make too much work
// together (SAFETY.md S5): it is refused before it is begun, first keys first.
func TestCheckStopsBeforeItTakesTooLong(t *testing.T) {
	const tooMuch = "by this schema it is too much to check"
	tests := map[string]struct{ why, schema, value string }{
		"Values":   {"many schemas for many values", "additionalProperties: {" + json("items: {anyOf: ["+strings.Repeat("{const: 2}, ", 40)+"{}]}") + "}", "[" + strings.Repeat("1,", schema.MaxJSONValues-2) + "1]"},
		"Required": {"many names for many values", "additionalProperties: {" + json("items: {not: {required: ["+numbered(600)+"]}}") + "}", "[" + strings.Repeat("{},", schema.MaxJSONValues-2) + "{}]"},
		"Demanded": {"or names that names demand", "additionalProperties: {" + json("items: {dependentRequired: {a: ["+numbered(600)+"]}}") + "}", "[" + strings.Repeat("{},", schema.MaxJSONValues-2) + "{}]"},
		"Enum":     {"or values to compare with", "additionalProperties: {" + json("items: {anyOf: ["+strings.Repeat("{enum: ["+numbered(256)+"]}, ", 2)+"{}]}") + "}", "[" + strings.Repeat("1,", schema.MaxJSONValues-2) + "1]"},
		"Patterns": {"many patterns for long texts", "additionalProperties: {anyOf: [" + strings.Repeat("{pattern: '^a{240}$'}, ", 8) + "{}]}", strings.Repeat("a", 14000)},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			i := parse(t, "requirer: {application: {schema: {"+tc.schema+"}}}")
			refused := func(bag map[string]string) []string {
				var at []string
				for _, v := range i.Check(application.Requirer, true, bag) {
					if v.Reason == tooMuch {
						at = append(at, v.Path)
					}
				}
				return at
			}
			assert.Empty(t, refused(map[string]string{"a": tc.value}), "one is not too much")
			assert.Equal(t, []string{"b"}, refused(map[string]string{"a": tc.value, "b": tc.value, "c": "1"}), tc.why)
		})
	}
	names := parse(t, "requirer: {application: {schema: {patternProperties: {'^a{240}$': {}, '^b{240}$': {}, '^c{240}$': {}, '^d{240}$': {}, '^e{240}$': {}, '^f{240}$': {}, '^g{240}$': {}}}}}")
	bag := map[string]string{}
	for n := range 200 {
		bag[fmt.Sprintf("%s%03d", strings.Repeat("a", 240), n)] = "1"
	}
	found := names.Check(application.Requirer, true, bag)
	require.NotEmpty(t, found, "names cost too")
	assert.Equal(t, tooMuch, found[0].Reason)
}

// A bag beyond the limits of RELATIONS.md P6 is not even looked at.
func TestCheckLimits(t *testing.T) {
	i := parse(t, fields("f: {description: A field., maxLength: 1}"))
	bag := map[string]string{"f": "xx"}
	require.Len(t, i.Check(application.Provider, true, bag), 1)
	bag["g"] = strings.Repeat("x", databag.MaxValue+1)
	found := i.Check(application.Provider, true, bag)
	require.Len(t, found, 1)
	assert.Equal(t, "g", found[0].Path)
	delete(bag, "g")
	for n := range 9 {
		bag[fmt.Sprint("g", n)] = strings.Repeat("x", databag.MaxValue)
	}
	found = i.Check(application.Provider, true, bag)
	require.Len(t, found, 1)
	assert.Contains(t, found[0].Reason, "524288")
}

// Of very many violations the first are told, and how many more there are.
func TestCheckTellsNoMoreThanAPersonReads(t *testing.T) {
	i := parse(t, "provider: {application: {schema: {additionalProperties: false}}}")
	for _, n := range []int{schema.MaxViolations, schema.MaxViolations + 8} {
		bag := map[string]string{}
		for k := range n {
			bag[fmt.Sprintf("k%03d", k)] = "x"
		}
		found := i.Check(application.Provider, true, bag)
		require.Len(t, found, schema.MaxViolations)
		if n == schema.MaxViolations {
			assert.Equal(t, "k031", found[len(found)-1].Path, "all of them are told")
		} else {
			assert.Equal(t, schema.Violation{Reason: "there are at least 9 more violations"}, found[len(found)-1])
		}
	}
}

// Names inside one value are told by the same measure, always the same ones.
func TestCheckTellsTheSameNames(t *testing.T) {
	i := parse(t, fields("f: {description: A field., "+json("additionalProperties: false")+"}"))
	var names []string
	for n := range 60 {
		names = append(names, fmt.Sprintf(`"k%02d": 1`, n))
	}
	bag := map[string]string{"f": "{" + strings.Join(names, ", ") + "}"}
	for range 20 { // the order of a map is another each time
		found := i.Check(application.Provider, true, bag)
		require.Len(t, found, schema.MaxViolations)
		assert.Equal(t, "there are at least 2 more violations", found[len(found)-1].Reason)
		assert.Equal(t, "f/k30", found[len(found)-2].Path)
	}
}

func TestMissingAndFields(t *testing.T) {
	i := parse(t, `provider: {application: {ready: [b, a], secret: [b], schema: {properties: {b: {description: " B. "}, a: {description: A., deprecated: true}, c: {description: C., contentMediaType: application/json}}}}}`)
	assert.Equal(t, []string{"a", "b"}, i.Missing(application.Provider, true, nil))
	assert.Equal(t, []string{"b"}, i.Missing(application.Provider, true, map[string]string{"a": "1", "b": ""}), "RELATIONS.md P3: an empty value is none")
	assert.Empty(t, i.Missing(application.Requirer, true, nil))
	want := []schema.Field{
		{Name: "a", Description: "A.", Ready: true, Deprecated: true},
		{Name: "b", Description: "B.", Ready: true, Secret: true},
		{Name: "c", Description: "C.", JSON: true},
	}
	assert.Equal(t, want, i.Fields(application.Provider), "SAFETY.md P7: the names that variables are made of")
	assert.Empty(t, i.Fields(application.Requirer))
}

// The zero Interface stands for one that nobody described: all is allowed.
func TestZeroInterface(t *testing.T) {
	var i schema.Interface
	assert.Empty(t, i.Check(application.Requirer, false, map[string]string{"a": "b"}))
	assert.Empty(t, i.Missing(application.Requirer, false, nil))
}
