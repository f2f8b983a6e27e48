package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
)

// end is a role's application or unit: what stands before a bag in Check.
type end struct {
	role          application.Role
	isApplication bool
}

// ends are all that a bag can belong to, by the name of its place.
func ends() map[string]end {
	return map[string]end{
		"provider/application": {application.Provider, true}, "provider/unit": {application.Provider, false},
		"requirer/application": {application.Requirer, true}, "requirer/unit": {application.Requirer, false},
	}
}

// told returns problems as "path: reason".
func told(problems []schema.Problem) []string {
	var all []string
	for _, p := range problems {
		all = append(all, p.Path+": "+p.Reason)
	}
	return all
}

func TestParse(t *testing.T) {
	i, problems := schema.Parse([]byte(`
name: kv
version: 3
description: A store.
provider:
  application:
    ready: [address]
    secret: [token]
    schema:
      $schema: https://json-schema.org/draft/2020-12/schema
      title: What the store says
      description: Of the provider.
      type: object
      $defs: {list: {type: array}}
      properties:
        address: {description: Where it is., pattern: '^\S+$'}
        token: {description: A token., type: string}
        more: {description: More., contentMediaType: application/json, contentSchema: {$ref: '#/$defs/list'}}
    examples:
      - {address: 10.0, token: secret:0123456789abcdefghij, more: "[1]", other: true}
requirer:
`))
	require.Empty(t, problems)
	assert.Equal(t, "kv", i.Name)
	assert.Equal(t, 3, i.Version)
	assert.Equal(t, "A store.", i.Description)
	bag := i.Bags[schema.ProviderApplication]
	assert.Equal(t, bag.Fields, i.Bag(application.Provider, true).Fields)
	assert.Equal(t, "Of the provider.", bag.Description)
	assert.Len(t, bag.Fields, 3)
	assert.Equal(t, []map[string]string{{"address": "10", "token": "secret:0123456789abcdefghij", "more": "[1]", "other": "true"}}, bag.Examples)
	assert.NotEmpty(t, i.Check(application.Provider, true, map[string]string{"more": "{}"}), "the reference leads somewhere")
}

// All problems are told at once, each with its place and, as far as there is one,
// the cure, in order.
func TestParseTellsAllProblems(t *testing.T) {
	i, problems := schema.Parse([]byte(`
name: Key Value
version: 1.5
vendor: me
provider:
  application:
    ready: [addr, addr]
    secret: token
    schema:
      properties:
        address: {type: integer}
        type: {description: Of what.}
  units: {}
requirer: []
`))
	assert.Equal(t, schema.Interface{}, i, "half an interface is none")
	assert.Equal(t, []string{
		"description: the interface is not documented",
		"name: a name consists of lower-case letters, digits, '-' and '_', begins with a letter and does not end with '-' or '_'",
		`provider/application/ready: the field "addr" is there twice`,
		`provider/application/ready: the schema has no field "addr"`,
		"provider/application/schema/properties/address: the field is not documented",
		"provider/application/schema/properties/address/type: a bag holds strings",
		"provider/application/schema/properties/type: the field cannot be a file, for a name is letters, digits, '.', '_' and '-', begins with a letter or digit, and is neither type nor provider",
		"provider/application/secret: it is not a list of fields",
		"provider/units: there is no such field here",
		"requirer: it is not a map",
		"vendor: there is no such field here",
		"version: a version is a whole number from 1",
	}, told(problems))
}

func TestParseRefuses(t *testing.T) {
	application := func(text string) string { return "provider: {application: {" + text + "}}" }
	tests := map[string]struct {
		why, text, path, reason string
	}{
		"List":          {"an interface is a map", "- a", "", "not a map"},
		"Several":       {"one document", head + "---\nname: b", "", "several documents"},
		"Broken":        {"YAML", head + "provider: [", "", "not YAML"},
		"Twice":         {"which of the two would count", head + "version: 2", "version", "twice"},
		"Version0":      {"versions begin with 1", "name: a\nversion: 0\ndescription: d", "version", "whole number"},
		"VersionText":   {"a version is a number", "name: a\nversion: one\ndescription: d", "version", "whole number"},
		"VersionHuge":   {"a version that no declaration can name", "name: a\nversion: 1048577\ndescription: d", "version", "whole number"},
		"Reserved":      {"RELATIONS.md M5", "name: juju-info\nversion: 1\ndescription: d", "name", "reserved"},
		"Both":          {"one way of saying it", head + "both: {}\nprovider: {}", "both", "in place of"},
		"NoSchema":      {"a bag without a schema says nothing", head + application("ready: []"), "provider/application/schema", "not a map"},
		"ReadyTwice":    {"a set", head + application("ready: [a, a], schema: {properties: {a: {description: A.}}}"), "provider/application/ready", "twice"},
		"SecretUnknown": {"RELATIONS.md P5: a misspelt secret field would be plain text", head + application("secret: [pasword], schema: {properties: {password: {description: A.}}}"), "provider/application/secret", `no field "pasword"`},
		"SecretPattern": {"the value is a reference, so a pattern would refuse all", head + application("secret: [a], schema: {properties: {a: {description: A., minLength: 12}}}"), "provider/application/schema/properties/a/minLength", "secret"},
		"Example":       {"an example that does not fit teaches the wrong thing", head + application("schema: {properties: {a: {description: A., pattern: '^x'}}}, examples: [{a: b}]"), "provider/application/examples/0/a", "does not fit"},
		"ExampleMap":    {"a bag holds strings", head + application("schema: {}, examples: [{a: {b: c}}]"), "provider/application/examples/0/a", "strings"},
		"ExamplesMap":   {"several", head + application("schema: {}, examples: {a: b}"), "provider/application/examples", "not a list"},
		"Required":      {"a bag is written a key at a time", head + application("schema: {required: [a]}"), "provider/application/schema/required", "a key at a time"},
		"BagKeyword":    {"what a bag may not be judged by", head + application("schema: {minProperties: 1}"), "provider/application/schema/minProperties", "no minProperties"},
		"BagType":       {"a bag is an object", head + application("schema: {type: array}"), "provider/application/schema/type", "object"},
		"Draft":         {"one draft", head + application("schema: {$schema: 'http://json-schema.org/draft-07/schema#'}"), "provider/application/schema/$schema", "another draft"},
		"FieldName":     {"SAFETY.md W1: a field must be able to be a file", head + fields("../a: {description: A.}"), "provider/application/schema/properties/../a", "cannot be a file"},
		"FieldBool":     {"a field says what it is", head + fields("a: true"), "provider/application/schema/properties/a", "map"},
		"Media":         {"what is not looked into", head + fields("a: {description: A., contentMediaType: text/plain}"), "provider/application/schema/properties/a/contentMediaType", "application/json"},
		"Content":       {"without a type of content it would be ignored", head + fields("a: {description: A., contentSchema: {}}"), "provider/application/schema/properties/a/contentSchema", "does nothing"},
		"Encoding":      {"what is not looked into", head + fields("a: {description: A., contentEncoding: base64}"), "provider/application/schema/properties/a/contentEncoding", "not looked into"},
		"ContentDeep":   {"JSON inside JSON inside a string is one too many", head + fields("a: {description: A., "+json("contentMediaType: application/json")+"}"), "provider/application/schema/properties/a/contentSchema/contentMediaType", "alone"},
		"Misspelt":      {"a misspelt keyword would be ignored", head + fields("a: {description: A., patern: x}"), "provider/application/schema/properties/a/patern", "no such keyword"},
		"Older":         {"keywords of older drafts would be ignored", head + fields("a: {description: A., "+json("dependencies: {}")+"}"), "provider/application/schema/properties/a/contentSchema/dependencies", "older draft"},
		"Format":        {"a format that nobody checks", head + fields("a: {description: A., format: idn-email}"), "provider/application/schema/properties/a/format", "no values are checked"},
		"Shape":         {"the standard's own rules", head + fields("a: {description: A., maxLength: -1}"), "provider/application/schema/properties/a/maxLength", "too small"},
		"ShapeContent":  {"also inside", head + fields("a: {description: A., "+json("type: text")+"}"), "provider/application/schema/properties/a/contentSchema/type", "allowed"},
		"Subschema":     {"a schema is a map or a truth value", head + fields("a: {description: A., not: 3}"), "provider/application/schema/properties/a/not", "not a schema"},
		"Properties":    {"a map", head + "provider: {application: {schema: {properties: [a]}}}", "provider/application/schema/properties", "not a map"},
		"Defs":          {"definitions stand in one place", head + fields("a: {description: A., "+json("$defs: {}")+"}"), "provider/application/schema/properties/a/contentSchema/$defs", "left out"},
		"Description":   {"text is text", "name: a\nversion: 1\ndescription: [d]", "description", "not text"},
		"AllOf":         {"a list", head + fields("a: {description: A., allOf: {}}"), "provider/application/schema/properties/a/allOf", "not a list"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { refused(t, tc.why, tc.text, tc.path, tc.reason) })
	}
}

// refused checks that a document has a problem with that reason at that path.
func refused(t *testing.T, why, text, path, reason string) {
	t.Helper()
	i, problems := schema.Parse([]byte(text))
	require.NotEmpty(t, problems, why)
	assert.Equal(t, schema.Interface{}, i)
	var at []string
	for _, p := range problems {
		if p.Path == path && strings.Contains(p.Reason, reason) {
			return
		}
		at = append(at, p.Error())
	}
	assert.Fail(t, why, "no problem at %s with %q, but %s", path, reason, strings.Join(at, "; "))
}

// deep nests a schema so often.
func deep(levels int) string {
	return strings.Repeat("{not: ", levels) + "{}" + strings.Repeat("}", levels)
}

// doubling defines schemas of which each refers twice to the next.
func doubling(n int) string {
	var b strings.Builder
	for k := range n {
		fmt.Fprintf(&b, "d%d: {allOf: [{$ref: '#/$defs/d%d'}, {$ref: '#/$defs/d%d'}]}, ", k, k+1, k+1)
	}
	return fmt.Sprintf("$defs: {%sd%d: {}}", b.String(), n)
}

// Whoever may publish an interface makes every controller compile it and every
// write pay for it: nothing outside is loaded, and size, depth, number and cost
// are limited (SAFETY.md S5).
func TestHostileSchemas(t *testing.T) {
	const at = "provider/application/schema"
	bag := func(text string) string { return head + "provider: {application: {schema: {" + text + "}}}" }
	field := func(text string) string { return head + fields("a: {description: A., "+text+"}") }
	ref := func(text string) string { return field("allOf: [{$ref: '" + text + "'}]") }
	const allOf = at + "/properties/a/allOf/0/$ref"
	tests := map[string]struct {
		why, text, path, reason string
	}{
		"Remote":       {"nothing is fetched", ref("https://example.org/schema.json"), allOf, "leads out"},
		"File":         {"nothing is read", ref("file:///etc/passwd"), allOf, "leads out"},
		"Relative":     {"not beside the document either", ref("other.json"), allOf, "leads out"},
		"Meta":         {"nor what the library ships", ref("https://json-schema.org/draft/2020-12/schema"), allOf, "leads out"},
		"Elsewhere":    {"a reference into a field would make its schema two things", ref("#/properties/a"), allOf, "leads out"},
		"Whole":        {"the bag itself", ref("#"), allOf, "leads out"},
		"Escaped":      {"one spelling of a name", ref("#/$defs/%61"), allOf, "leads out"},
		"EscapedName":  {"even of a name that is there", bag("$defs: {a%61: {}}, properties: {a: {description: A., $ref: '#/$defs/a%61'}}"), at + "/properties/a/$ref", "leads out"},
		"Dangling":     {"to nothing", ref("#/$defs/none"), allOf, "leads out"},
		"NoText":       {"no text", field("$ref: 7"), at + "/properties/a/$ref", "leads out"},
		"Id":           {"a name of its own would change what references mean", field("$id: 'https://example.org/'"), at + "/properties/a/$id", "left out"},
		"Anchor":       {"as would an anchor", field("$anchor: b"), at + "/properties/a/$anchor", "left out"},
		"Dynamic":      {"a reference that is resolved while judging", field("$dynamicRef: '#b'"), at + "/properties/a/$dynamicRef", "left out"},
		"Vocabulary":   {"another language", field("$schema: 'https://example.org/'"), at + "/properties/a/$schema", "left out"},
		"Unevaluated":  {"its cost depends on all that came before", field(json("unevaluatedProperties: false")), at + "/properties/a/contentSchema/unevaluatedProperties", "left out"},
		"Names":        {"the library tells their places wrong", field(json("propertyNames: {pattern: ^a}")), at + "/properties/a/contentSchema/propertyNames", "left out"},
		"Itself":       {"a circle of one", bag("$defs: {d: {items: {$ref: '#/$defs/d'}}}"), at, "refers to itself"},
		"Circle":       {"a circle of two", bag("$defs: {d: {$ref: '#/$defs/e'}, e: {not: {$ref: '#/$defs/d'}}}"), at, "refers to itself"},
		"CircleUsed":   {"a circle that a field enters", bag("properties: {a: {description: A., " + json("$ref: '#/$defs/d'") + "}}, $defs: {d: {properties: {b: {$ref: '#/$defs/d'}}}}"), at, "refers to itself"},
		"Doubling":     {"a line each, a thousand million together", bag(doubling(30) + ", properties: {a: {description: A., $ref: '#/$defs/d0'}}"), at, "more than 512 schemas"},
		"Deep":         {"recursion has a limit", field("not: " + deep(40)), at + "/properties/a/not" + strings.Repeat("/not", 26), "deeper than 32"},
		"DeepList":     {"of lists too", field("enum: " + strings.Repeat("[", 40) + strings.Repeat("]", 40)), at + "/properties/a/enum" + strings.Repeat("/0", 26), "deeper than 32"},
		"VeryDeep":     {"and the YAML library has one of its own", head + "provider: " + strings.Repeat("[", 20000), "", "not YAML"},
		"Many":         {"a schema is read by people", bag("additionalProperties: {anyOf: [" + strings.Repeat("{}, ", 510) + "{}]}"), at, "more than 512 schemas"},
		"HugeEnum":     {"each value is compared with each item", field("enum: [" + strings.Repeat("a, ", schema.MaxEnum) + "a]"), at + "/properties/a/enum", "at most 256"},
		"ManyEnums":    {"and many enums are as one", bag("additionalProperties: {anyOf: [" + strings.Repeat("{enum: ["+strings.Repeat("a, ", 160)+"a]}, ", 50) + "{}]}"), at, "more than 512 schemas"},
		"DeepEnum":     {"comparing goes deep", field("enum: [[a]]"), at + "/properties/a/enum/0", "compare"},
		"DeepConst":    {"also with one value", field("const: {a: b}"), at + "/properties/a/const", "compare"},
		"Backtracking": {"Go's patterns are RE2 and never backtrack; what needs backtracking is no pattern of theirs", field(`pattern: '^(a+)+\1$'`), at + "/properties/a/pattern", "RE2"},
		"Lookahead":    {"nor do they look ahead", field("pattern: '^(?=a)b'"), at + "/properties/a/pattern", "RE2"},
		"Repetition":   {"what RE2 leaves is cost by repetition", field("pattern: '^(a{30}){30}$'"), at + "/properties/a/pattern", "at most 256"},
		"LongPattern":  {"or by length", field("pattern: '" + strings.Repeat("a", 257) + "'"), at + "/properties/a/pattern", "at most 256 bytes"},
		"PatternName":  {"patterns that are names too", bag("patternProperties: {'^(a{30}){30}$': {}}"), at + "/patternProperties/^(a{30}){30}$", "at most 256"},
		"Patterns":     {"many patterns are as one", bag("additionalProperties: {anyOf: [" + strings.Repeat("{pattern: '^a{240}$'}, ", 9) + "{}]}"), at, "more than 2048"},
		"PatternsRef":  {"however they are reached", bag("additionalProperties: {anyOf: [" + strings.Repeat("{$ref: '#/$defs/d'}, ", 9) + "{}]}, $defs: {d: {pattern: '^a{240}$'}}"), at, "more than 2048"},
		"Number":       {"numbers are calculated with exactly", field(json("maximum: 1e+300")), at + "/properties/a/contentSchema/maximum", "not a number"},
		"Infinite":     {"or not at all", field(json("maximum: .inf")), at + "/properties/a/contentSchema/maximum", "not a number"},
		"NumberSmall":  {"the small ones too", field(json("multipleOf: 1e-300")), at + "/properties/a/contentSchema/multipleOf", "not a number"},
		"Alias":        {"aliases of aliases are a thousand million laughs", head + "provider: &a {unit: *a}", "provider", "anchors and aliases"},
		"Merge":        {"as are merged maps", head + "provider: {<<: {}}", "provider", "not one word"},
		"Binary":       {"what YAML has beyond JSON", head + "provider: !!binary aGk=", "provider", "tagged"},
		"KeyMap":       {"keys are words", head + "provider: {{a: b}: c}", "provider", "not one word"},
		"Large":        {"all of it", head + "# " + strings.Repeat("x", schema.MaxDocument), "", "may have 65536"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { refused(t, tc.why, tc.text, tc.path, tc.reason) })
	}
}

// What is within the limits is allowed, or the limits would be others.
func TestParseAtTheLimits(t *testing.T) {
	tests := map[string]struct{ why, text string }{
		"Large":      {"size", head + fields("a: {description: A.}") + "\n#" + strings.Repeat("x", schema.MaxDocument-len(head)-len(fields("a: {description: A.}"))-2)},
		"Many":       {"schemas", head + "provider: {application: {schema: {additionalProperties: {anyOf: [" + strings.Repeat("{}, ", 509) + "{}]}}}}"},
		"Enum":       {"values", head + fields("a: {description: A., enum: ["+numbered(schema.MaxEnum)+"]}")},
		"Doubling":   {"references", head + "provider: {application: {schema: {" + doubling(5) + ", properties: {a: {description: A., $ref: '#/$defs/d0'}}}}}"},
		"Repetition": {"patterns", head + fields("a: {description: A., pattern: '^a{240}$'}")},
		"Percent":    {"names with the signs of pointers and URLs", head + "provider: {application: {schema: {$defs: {a.b-c: {}}, patternProperties: {'~a/%41#?': {" + json("$ref: '#/$defs/a.b-c'") + "}}}}}"},
		"Nothing":    {"an interface that is only a name", head},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, problems := schema.Parse([]byte(tc.text))
			assert.Empty(t, told(problems), tc.why)
		})
	}
}

func numbered(n int) string {
	var all []string
	for k := range n {
		all = append(all, fmt.Sprint("v", k))
	}
	return strings.Join(all, ", ")
}

func TestPlaceOf(t *testing.T) {
	for name, e := range ends() {
		assert.Equal(t, name, schema.PlaceOf(e.role, e.isApplication).String())
	}
	assert.Equal(t, schema.ProviderUnit, schema.PlaceOf(application.Peer, false), "peers have the provider's bags")
	assert.Empty(t, schema.Place(4).String())
}

func TestSentences(t *testing.T) {
	assert.EqualError(t, schema.Problem{Path: "a/b", Reason: "it is wrong", Cure: "mend it"}, "a/b: it is wrong; mend it")
	assert.EqualError(t, schema.Problem{Reason: "it is wrong"}, "it is wrong")
	assert.EqualError(t, schema.Violation{Path: "a", Reason: "it is wrong", Expected: "b"}, "a: it is wrong; expected b")
}
