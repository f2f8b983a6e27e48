package schema_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
)

// version makes an interface of that version.
func version(t testing.TB, n, text string) schema.Interface {
	t.Helper()
	i, problems := schema.Parse([]byte("name: test\nversion: " + n + "\ndescription: For tests.\n" + text))
	require.Empty(t, problems)
	return i
}

// Who knows one version understands the next (RELATIONS.md, Interfaces).
func TestEvolvesFields(t *testing.T) {
	const at = "provider/application"
	tests := map[string]struct {
		why           string
		before, after string // of the schema of field f
		want          []string
	}{
		"Same":            {"nothing is new", "minLength: 1", "minLength: 1", nil},
		"Texts":           {"texts for people may change", "title: a", "title: b, deprecated: true", nil},
		"MoreValues":      {"enums grow", "enum: [a]", "enum: [a, b]", nil},
		"AllValues":       {"as far as to all", "enum: [a]", "title: x", nil},
		"FewerValues":     {"and never shrink", "enum: [a, b]", "enum: [a]", []string{at + "/f: an enum only grows, and a value is gone from it"}},
		"OtherValue":      {"a const is an enum of one", "const: a", "enum: [b, c]", []string{at + "/f: an enum only grows, and a value is gone from it"}},
		"ConstGrows":      {"which grows like one", "const: a", "enum: [a, b]", nil},
		"NewEnum":         {"who wrote anything wrote something else", "minLength: 0", "enum: [a], minLength: 0", []string{at + "/f: only some values are allowed, which all were before"}},
		"Unsorted":        {"a set has one order", "enum: [a]", "enum: [b, a]", []string{at + "/schema/properties/f/enum: it is a set, and not in canonical order"}},
		"Wider":           {"limits widen", "minLength: 2, maxLength: 9", "minLength: 1, maxLength: 10", nil},
		"NoLimit":         {"or vanish", "pattern: ^a, maxLength: 9, format: ipv4", "title: x", nil},
		"Narrower":        {"and never narrow", "minLength: 1, maxLength: 9", "minLength: 2, maxLength: 8", []string{at + "/f/maxLength: the limit is narrower than before", at + "/f/minLength: the limit is narrower than before"}},
		"NewLimit":        {"or arise", "title: x", "maxLength: 9", []string{at + "/f/maxLength: it is a restriction that was not there"}},
		"NewPattern":      {"of two patterns nobody knows which is wider", "pattern: ^a", "pattern: ^b", []string{at + "/f/pattern: it judges otherwise than before"}},
		"NewContent":      {"text is not JSON", "title: x", "contentMediaType: application/json", []string{at + "/f: its type has changed"}},
		"NoContent":       {"nor JSON text", "contentMediaType: application/json", "title: x", []string{at + "/f: its type has changed"}},
		"Type":            {"types stay, inside too", json("type: array"), json("type: object"), []string{at + "/f/contentSchema: its type has changed"}},
		"TypeGone":        {"also where any would do", json("type: array"), json("title: x"), []string{at + "/f/contentSchema: its type has changed"}},
		"TypeNew":         {"or did", json("title: x"), json("type: array"), []string{at + "/f/contentSchema: its type has changed"}},
		"TypeMore":        {"who reads one type does not read two", json("type: array"), json("type: [array, object]"), []string{at + "/f/contentSchema: its type has changed"}},
		"TypeSpelling":    {"a list of one is one", json("type: array"), json("type: [array]"), nil},
		"InnerName":       {"names are added", json("properties: {a: {}}"), json("properties: {a: {}, b: {type: string}}"), nil},
		"InnerGone":       {"and never taken away", json("properties: {a: {}, b: {}}"), json("properties: {a: {}}"), []string{at + "/f/contentSchema/b: the field is gone, and applications may still read or write it"}},
		"InnerType":       {"their types stay", json("properties: {a: {type: string}}"), json("properties: {a: {type: number}}"), []string{at + "/f/contentSchema/a: its type has changed"}},
		"InnerDemand":     {"what is new is optional", json("required: [a]"), json("required: [a, b]"), []string{at + "/f/contentSchema/b: it is demanded, which it was not before"}},
		"InnerRelief":     {"and readers rely on what is demanded", json("required: [a, b]"), json("required: [a]"), []string{at + "/f/contentSchema/b: it is demanded no longer, and readers rely on it"}},
		"InnerSet":        {"required is a set", json("required: [b, a]"), json("required: [b, a]"), []string{at + "/schema/properties/f/contentSchema/required: it is a set, and not in canonical order"}},
		"InnerNumbers":    {"numbers are in order of size", json("items: {enum: [9, 10]}"), json("items: {enum: [9, 10, 11]}"), nil},
		"InnerNumbersBad": {"not of letters", json("items: {enum: [10, 9]}"), json("items: {enum: [10, 9]}"), []string{at + "/schema/properties/f/contentSchema/items/enum: it is a set, and not in canonical order"}},
		"InnerItems":      {"items are as all else", json("items: {type: string}"), json("items: {type: number}"), []string{at + "/f/contentSchema/items: its type has changed"}},
		"Closed":          {"names that were free are closed", json("properties: {a: {}}"), json("properties: {a: {}}, additionalProperties: false"), []string{at + "/f/contentSchema/additionalProperties/not: it is a restriction that was not there"}},
		"Opened":          {"the other way is fine", json("additionalProperties: false"), json("additionalProperties: {type: string}"), nil},
		"Spelling":        {"true says nothing", json("additionalProperties: true"), json("title: x"), nil},
		"Matching":        {"a pattern judges names that were free", json("patternProperties: {^a: {}}"), json("patternProperties: {^a: {}, ^b: {}}"), []string{at + "/f/contentSchema/^b: a pattern that was not there judges names that were free"}},
		"Combined":        {"what combines schemas stays", json("oneOf: [{type: string}, {type: number}]"), json("oneOf: [{type: string}, {type: boolean}]"), []string{at + "/f/contentSchema/oneOf: it judges otherwise than before"}},
		"CombinedGone":    {"entirely", json("if: {type: string}, then: {minLength: 1}"), json("then: {minLength: 1}"), []string{at + "/f/contentSchema/if: it judges otherwise than before"}},
		"CombinedTexts":   {"its texts excepted", json("oneOf: [{type: string, title: a}, {type: number}]"), json("oneOf: [{type: string, title: b}, {type: number}]"), nil},
		"Count":           {"how many are counted", json("contains: {const: 1}, minContains: 0"), json("contains: {const: 1}"), []string{at + "/f/contentSchema/minContains: the limit is narrower than before"}},
		"Mixed":           {"numbers, null, truth values, texts: so sets are in order", json("enum: [1, null, true, a]"), json("enum: [1, null, true, a, b]"), nil},
		"MixedBad":        {"and not otherwise", json("enum: [a, 1]"), json("enum: [a, 1]"), []string{at + "/schema/properties/f/contentSchema/enum: it is a set, and not in canonical order"}},
		"Beside":          {"what stands beside a reference counts with it", json("properties: {a: {}}, allOf: [{minProperties: 1}]"), json("properties: {a: {}}, allOf: [{minProperties: 2}]"), []string{at + "/f/contentSchema/allOf: it judges otherwise than before"}},
		"Default":         {"a default means something to readers", "default: a", "default: b", []string{at + "/f/default: it judges otherwise than before"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			before := version(t, "1", fields("f: {description: Before., "+tc.before+"}"))
			after := version(t, "2", fields("f: {description: After., "+tc.after+"}"))
			var got []string
			for _, v := range schema.Evolves(before, after) {
				got = append(got, v.Path+": "+v.Reason)
			}
			assert.Equal(t, tc.want, got, tc.why)
		})
	}
}

func TestEvolvesBags(t *testing.T) {
	const a, b = "a: {description: A.}", "b: {description: B.}"
	side := func(lists, properties string) string {
		return "requirer: {unit: {" + lists + " schema: {properties: {" + properties + "}}}}"
	}
	tests := map[string]struct {
		why           string
		before, after string
		want          []string
	}{
		"Same":        {"nothing is new", side("", a), side("", a), nil},
		"Added":       {"fields are added", side("", a), side("", a+", "+b), nil},
		"FirstBag":    {"and so are bags", "", side("", a), nil},
		"Demanded":    {"what is new is optional", side("", a), side("ready: [b],", a+", "+b), []string{"requirer/unit/b: it is new and the relation is not ready without it, but who knows the older version does not give it"}},
		"Gone":        {"nothing is taken away", side("", a+", "+b), side("", a), []string{"requirer/unit/b: the field is gone, and applications may still read or write it"}},
		"BagGone":     {"no bag either", side("", a), "", []string{"requirer/unit/a: the field is gone, and applications may still read or write it"}},
		"NowReady":    {"who did not give it does not begin to", side("", a), side("ready: [a],", a), []string{"requirer/unit/a: whether the relation is ready without it has changed"}},
		"NotReady":    {"who relied on it goes on to", side("ready: [a],", a), side("", a), []string{"requirer/unit/a: whether the relation is ready without it has changed"}},
		"NowSecret":   {"RELATIONS.md P5: a reference is not a plain value", side("", a), side("secret: [a],", a), []string{"requirer/unit/a: it was secret or is now, which changes what its value is"}},
		"Plain":       {"nor the other way", side("secret: [a],", a), side("", a), []string{"requirer/unit/a: it was secret or is now, which changes what its value is"}},
		"ReadySet":    {"a set has one order", side("", a+", "+b), side("ready: [b, a],", a+", "+b), []string{"requirer/unit/a: whether the relation is ready without it has changed", "requirer/unit/b: whether the relation is ready without it has changed", "requirer/unit/ready: it is a set, and not in canonical order"}},
		"Closed":      {"a bag that was open stays so", side("", a), "requirer: {unit: {schema: {additionalProperties: false, properties: {" + a + "}}}}", []string{"requirer/unit/additionalProperties/not: it is a restriction that was not there"}},
		"Opened":      {"one that was closed may open", "requirer: {unit: {schema: {additionalProperties: false}}}", side("", a), nil},
		"ByReference": {"what a reference leads to is as if it stood there", side("", "a: {description: A., pattern: ^a}"), "requirer: {unit: {schema: {$defs: {x: {pattern: ^a}}, properties: {a: {description: A., $ref: '#/$defs/x'}}}}}", nil},
		"Referred":    {"and compared like it", side("", "a: {description: A., pattern: ^a}"), "requirer: {unit: {schema: {$defs: {x: {pattern: ^b}}, properties: {a: {description: A., $ref: '#/$defs/x'}}}}}", []string{"requirer/unit/a/pattern: it judges otherwise than before"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, v := range schema.Evolves(version(t, "1", tc.before), version(t, "3", tc.after)) {
				got = append(got, v.Path+": "+v.Reason)
			}
			assert.Equal(t, tc.want, got, tc.why)
		})
	}
}

// A published version does not change, whatever is said of later ones
// (SAFETY.md S5).
func TestEvolvesVersions(t *testing.T) {
	before, after := version(t, "2", fields("a: {description: A.}")), fields("a: {description: A.}, b: {description: B.}")
	assert.Empty(t, schema.Evolves(before, version(t, "3", after)))
	assert.Equal(t, []schema.Violation{{Path: "version", Reason: "a published version does not change", Expected: "3"}}, schema.Evolves(before, version(t, "2", after)))
	assert.Equal(t, []schema.Violation{{Path: "version", Reason: "it is lower than before", Expected: "at least 2"}}, schema.Evolves(before, version(t, "1", after)))
	assert.Empty(t, schema.Evolves(before, version(t, "2", fields("a: {description: Better words.}"))), "its texts are for people")
	other := version(t, "3", after)
	other.Name = "another"
	assert.Equal(t, []schema.Violation{{Path: "name", Reason: "it is another interface", Expected: "test"}}, schema.Evolves(before, other))
}

// Whatever the linter lets pass, a bag that fitted the older version fits the
// newer one.
func TestEvolvesKeepsWhatFitted(t *testing.T) {
	variants := []string{
		"title: x", "enum: [a]", "enum: [a, bb]", "const: a", "minLength: 1", "minLength: 2", "maxLength: 1", "maxLength: 2", "pattern: ^a", "minLength: 1, maxLength: 2",
		json(""), json("type: array"), json("type: array, items: {type: number}"), json("type: object, required: [a]"), json("properties: {a: {type: number}}"),
		json("properties: {a: {type: number}}, additionalProperties: false"), json("additionalProperties: {type: number}"), json("enum: [1, 2]"), json("maximum: 1"),
		json("not: {type: number}"), json("anyOf: [{type: number}, {type: array}]"), json("contains: {const: 1}"), json("contains: {const: 1}, minContains: 0"), json("prefixItems: [{type: number}]"),
	}
	values := []string{"a", "b", "aa", "bb", "ccc", "1", "2", "3", "[]", "[1]", `["a"]`, "{}", `{"a":1}`, `{"a":"b"}`, `{"b":1}`, `{"b":"c"}`, "null"}
	rapid.Check(t, func(t *rapid.T) {
		one, two := rapid.SampledFrom(variants).Draw(t, "before"), rapid.SampledFrom(variants).Draw(t, "after")
		before, _ := schema.Parse([]byte(head + fields("f: {description: F., "+one+"}")))
		after, _ := schema.Parse([]byte("name: test\nversion: 2\ndescription: d\n" + fields("f: {description: F., "+two+"}")))
		if len(schema.Evolves(before, after)) > 0 {
			return
		}
		bag := map[string]string{"f": rapid.SampledFrom(values).Draw(t, "value")}
		e := ends()["provider/application"]
		if len(before.Check(e.role, e.isApplication, bag)) == 0 {
			assert.Empty(t, after.Check(e.role, e.isApplication, bag))
		}
	})
}
