package schema

// shape is the type of a keyword's value.
type shape int

const (
	unknown  shape = iota // not a keyword of draft 2020-12
	plain                 // no schema
	one                   // a schema
	several               // a list of schemas
	named                 // a map from names to schemas
	matching              // a map from patterns to schemas
	content               // of a field alone: what is in its text
	beyond                // reaches beyond the document, or has an unbounded cost
	older                 // of an older draft
)

// shapeOf sorts the keywords of JSON Schema.
func shapeOf(keyword string) shape {
	switch keyword {
	case "$comment", "$ref", "type", "enum", "const", "multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum",
		"maxLength", "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "maxContains", "minContains",
		"maxProperties", "minProperties", "required", "dependentRequired", "format",
		"title", "description", "default", "deprecated", "readOnly", "writeOnly", "examples":
		return plain
	case "not", "if", "then", "else", "items", "contains", "additionalProperties":
		return one
	case "allOf", "anyOf", "oneOf", "prefixItems":
		return several
	case "properties", "dependentSchemas":
		return named
	case "patternProperties":
		return matching
	case "contentEncoding", "contentMediaType", "contentSchema":
		return content
	case "$schema", "$id", "$anchor", "$defs", "$dynamicRef", "$dynamicAnchor", "$vocabulary", "unevaluatedItems", "unevaluatedProperties", "propertyNames":
		return beyond
	case "definitions", "dependencies", "additionalItems", "$recursiveRef", "$recursiveAnchor", "id":
		return older
	default:
		return unknown
	}
}

// annotation reports whether a keyword tells people something and judges nothing.
func annotation(keyword string) bool {
	switch keyword {
	case "$comment", "title", "description", "deprecated", "readOnly", "writeOnly", "examples", "$schema":
		return true
	default:
		return false
	}
}

// checked reports whether values are checked for a format.
func checked(format string) bool {
	switch format {
	case "date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "json-pointer", "regex", "semver", "time", "uri", "uri-reference", "uuid":
		return true
	default:
		return false
	}
}
