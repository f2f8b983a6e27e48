package schema

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
)

// MaxEnum is how many values an enum has at most (SAFETY.md S5): each is compared
// with each item of a list.
const MaxEnum = 256

// author checks the text of a bag's schema before the library sees it: keywords, references, patterns, and that
// fields are documented.
type author struct {
	*reader
	defs map[string]any
}

// bag checks the schema of a bag.
func (a *author) bag(path string, schema map[string]any, secret []string) {
	a.defs, _ = schema["$defs"].(map[string]any)
	for _, keyword := range slices.Sorted(maps.Keys(schema)) {
		below, value := join(path, keyword), schema[keyword]
		switch keyword {
		case "$comment", "title", "description":
		case "$schema":
			if value != "https://json-schema.org/draft/2020-12/schema" {
				a.refuse(below, "it is another draft than 2020-12", "leave it out")
			}
		case "type":
			if value != "object" {
				a.refuse(below, "a bag is an object", "write object")
			}
		case "properties":
			a.properties(below, value, secret)
		case "patternProperties":
			a.each(below, value, func(path, name string, v any) { a.pattern(path, name); a.field(path, v) })
		case "additionalProperties":
			if _, truth := value.(bool); !truth {
				a.field(below, value)
			}
		case "$defs":
			a.each(below, value, func(path, _ string, v any) { a.schema(path, v) })
		case "required":
			a.refuse(below, "a bag is written a key at a time, so no key can be demanded of it", "list the fields under ready, beside schema")
		default:
			a.refuse(below, "the schema of a bag has type, properties, patternProperties, additionalProperties and $defs, and no "+keyword, "put it into the schema of a field")
		}
	}
}

// each visits a map of schemas in order of name.
func (a *author) each(path string, v any, visit func(path, name string, v any)) {
	m, ok := v.(map[string]any)
	if !ok {
		a.refuse(path, "it is not a map of names to schemas", "")
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		visit(join(path, name), name, m[name])
	}
}

// properties checks the declared fields.
func (a *author) properties(path string, v any, secret []string) {
	a.each(path, v, func(path, name string, v any) {
		if !databag.FileName(name) || name == "type" || name == "provider" {
			a.refuse(path, "the field cannot be a file, for a name is letters, digits, '.', '_' and '-', begins with a letter or digit, and is neither type nor provider", "choose another name")
		}
		m, _ := v.(map[string]any)
		if text, _ := m["description"].(string); strings.TrimSpace(text) == "" {
			a.refuse(path, "the field is not documented", "write a description")
		}
		a.field(path, v)
		if slices.Contains(secret, name) {
			a.secret(path, m)
		}
	})
}

// secret checks that the schema of a secret field says nothing of its content,
// which is a reference.
func (a *author) secret(path string, m map[string]any) {
	for _, keyword := range slices.Sorted(maps.Keys(m)) {
		if !annotation(keyword) && keyword != "type" {
			a.refuse(join(path, keyword), "the field is secret, so its value is a reference and nothing else is to be said of it", "leave it out")
		}
	}
}

// field checks the schema of a field, and of the values inside it.
func (a *author) field(path string, v any) {
	m, ok := v.(map[string]any)
	if !ok {
		a.refuse(path, "the schema of a field is a map", "write for example type: string")
		return
	}
	if kind, there := m["type"]; there && kind != "string" {
		a.refuse(join(path, "type"), "a bag holds strings",
			"write type: string and a pattern, or for JSON contentMediaType: application/json and contentSchema with this type")
	}
	if media, there := m["contentMediaType"]; there && media != "application/json" {
		a.refuse(join(path, "contentMediaType"), "only application/json is looked into", "say other types in the description")
	}
	inner, there := m["contentSchema"]
	if there && m["contentMediaType"] == nil {
		a.refuse(join(path, "contentSchema"), "without contentMediaType it does nothing", "add contentMediaType: application/json")
	}
	if there {
		a.schema(join(path, "contentSchema"), inner)
	}
	if _, encoded := m["contentEncoding"]; encoded {
		a.refuse(join(path, "contentEncoding"), "encodings are not looked into", "say it in the description")
	}
	for _, keyword := range slices.Sorted(maps.Keys(m)) {
		if shapeOf(keyword) != content {
			a.keyword(path, keyword, m[keyword])
		}
	}
}

// schema checks a schema anywhere below a field or under $defs.
func (a *author) schema(path string, v any) {
	m, ok := v.(map[string]any)
	if _, truth := v.(bool); !ok && !truth {
		a.refuse(path, "it is not a schema", "write a map of keywords, or true or false")
		return
	}
	for _, keyword := range slices.Sorted(maps.Keys(m)) {
		a.keyword(path, keyword, m[keyword])
	}
}

func (a *author) keyword(path, keyword string, v any) {
	below := join(path, keyword)
	switch shapeOf(keyword) {
	case plain:
		a.plain(below, keyword, v)
	case one:
		a.schema(below, v)
	case several:
		list, ok := v.([]any)
		if !ok {
			a.refuse(below, "it is not a list of schemas", "")
		}
		for i, item := range list {
			a.schema(join(below, strconv.Itoa(i)), item)
		}
	case named:
		a.each(below, v, func(path, _ string, v any) { a.schema(path, v) })
	case matching:
		a.each(below, v, func(path, name string, v any) { a.pattern(path, name); a.schema(path, v) })
	case content:
		a.refuse(below, "it stands in the schema of a field alone", "move it there")
	case beyond:
		a.refuse(below, "the keyword is left out here, for it reaches beyond its place or its cost has no limit", cureOf(keyword))
	case older:
		a.refuse(below, "the keyword is of an older draft", "write it as draft 2020-12 does: $defs, dependentRequired, dependentSchemas, items")
	case unknown:
		a.refuse(below, "draft 2020-12 has no such keyword", "")
	}
}

func cureOf(keyword string) string {
	switch keyword {
	case "propertyNames":
		return "write patternProperties and additionalProperties: false"
	case "unevaluatedItems", "unevaluatedProperties":
		return "write additionalProperties: false, or items"
	case "$defs":
		return "put it at the top of the bag's schema"
	default:
		return "leave it out; a reference is #/$defs/NAME"
	}
}

// plain checks the keywords that hold no schema, as far as the library does not.
func (a *author) plain(path, keyword string, v any) {
	text, _ := v.(string)
	switch keyword {
	case "$ref":
		name, here := strings.CutPrefix(text, "#/$defs/")
		if _, found := a.defs[name]; !here || !found || strings.ContainsAny(name, "/~%#") {
			a.refuse(path, fmt.Sprintf("%q leads out of this schema or to nothing", text),
				"write #/$defs/NAME, with NAME under $defs at the top of the bag's schema")
		}
	case "pattern":
		a.pattern(path, text)
	case "format":
		if !checked(text) {
			a.refuse(path, fmt.Sprintf("no values are checked for the format %q", text), "write a pattern, or say it in the description")
		}
	case "enum":
		list, _ := v.([]any)
		if len(list) > MaxEnum {
			a.refuse(path, fmt.Sprintf("an enum has at most %d values, this one has %d", MaxEnum, len(list)), "write a pattern")
		}
		for i, item := range list {
			a.simple(join(path, strconv.Itoa(i)), item)
		}
	case "const":
		a.simple(path, v)
	}
}

// simple refuses lists and maps where values are compared.
func (a *author) simple(path string, v any) {
	switch v.(type) {
	case []any, map[string]any:
		a.refuse(path, "a value to compare with is text, a number, true, false or null", "describe lists and maps by items and properties")
	}
}

func (a *author) pattern(path, text string) {
	if _, err := compilePattern(text); err != nil {
		a.refuse(path, err.Error(), "write a simpler one")
	}
}
