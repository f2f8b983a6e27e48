package qontract

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// addFile adds an object as the file of its path.
func addFile(tree *bundle.Tree, schema string, found map[string]any) error {
	path, _ := found["path"].(string)
	name, rooted := strings.CutPrefix(path, "/")
	if !rooted {
		return errors.New("it has no path that begins with a slash")
	}
	withoutNulls(found)
	found["$schema"] = schema
	// A mapping of any form is JSON in a text.
	if text, ok := found["labels"].(string); ok {
		var labels map[string]any
		if json.Unmarshal([]byte(text), &labels) == nil {
			found["labels"] = labels
		}
	}
	content, err := json.Marshal(found)
	if err != nil {
		return err
	}
	return tree.Add(name, bundle.File{Content: content})
}

// withoutNulls removes fields without a value: a GraphQL server sends null for what a file does not have.
func withoutNulls(v any) {
	switch v := v.(type) {
	case map[string]any:
		maps.DeleteFunc(v, func(_ string, field any) bool { return field == nil })
		for _, field := range v {
			withoutNulls(field)
		}
	case []any:
		for _, element := range v {
			withoutNulls(element)
		}
	}
}
