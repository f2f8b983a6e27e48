// Package jsonpatch writes JSON Patches (RFC 6902).
//
// What must not come in: what is patched, and why.
package jsonpatch

import (
	"encoding/json"
	"strings"
)

// Operation is one step of a JSON Patch.
type Operation struct {
	// Op is add or remove.
	Op string
	// Path is a JSON Pointer.
	Path string
	// Value is the added value; nil for a remove.
	Value json.RawMessage
}

// Pointer escapes a key for a JSON Pointer (RFC 6901).
func Pointer(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}

// Append appends operations as a JSON Patch.
func Append(to []byte, operations []Operation) []byte {
	to = append(to, '[')
	for i, o := range operations {
		if i > 0 {
			to = append(to, ',')
		}
		to = append(to, `{"op":"`...)
		to = append(to, o.Op...)
		to = append(to, `","path":`...)
		to = AppendString(to, o.Path)
		if o.Value != nil {
			to = append(to, `,"value":`...)
			to = append(to, o.Value...)
		}
		to = append(to, '}')
	}
	return append(to, ']')
}

// AppendString appends text as a JSON string; what needs no escape is the common case.
func AppendString(to []byte, text string) []byte {
	for i := range len(text) {
		if b := text[i]; b < ' ' || b >= 0x7f || b == '"' || b == '\\' || b == '<' || b == '>' || b == '&' {
			return append(to, encode(text)...)
		}
	}
	to = append(append(to, '"'), text...)
	return append(to, '"')
}

// encode writes text, which always can be written.
func encode(text string) []byte {
	encoded, err := json.Marshal(text)
	if err != nil {
		return []byte(`""`)
	}
	return encoded
}
