package health

import (
	"strconv"
	"strings"
)

// subject is an object as the API server returns it.
type subject struct{ fields map[string]any }

// at returns the value at a path of names; nil if there is none.
func (o subject) at(path ...string) any { return at(o.fields, path...) }

func at(fields map[string]any, path ...string) any {
	var value any = fields
	for _, name := range path {
		inner, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = inner[name]
	}
	return value
}

func (o subject) text(path ...string) string {
	text, _ := o.at(path...).(string)
	return text
}

// count returns a number, and the fallback where there is none.
func (o subject) count(fallback int64, path ...string) int64 {
	if n, ok := number(o.at(path...)); ok {
		return n
	}
	return fallback
}

// status returns the object's status; nil if it is missing or empty.
func (o subject) status() any {
	status := o.at("status")
	if fields, ok := status.(map[string]any); ok && len(fields) == 0 {
		return nil
	}
	return status
}

// kind returns the group and the kind.
func (o subject) kind() (group, kind string) {
	group, _, found := strings.Cut(o.text("apiVersion"), "/")
	if !found {
		group = ""
	}
	return group, o.text("kind")
}

// generation returns metadata.generation; known is false for kinds that have none.
func (o subject) generation() (generation int64, known bool) {
	return number(o.at("metadata", "generation"))
}

// list returns the maps of a list.
func list(value any) []map[string]any {
	var all []map[string]any
	entries, _ := value.([]any)
	for _, entry := range entries {
		if fields, ok := entry.(map[string]any); ok {
			all = append(all, fields)
		}
	}
	return all
}

// number returns a whole number, also one that is written as a text.
func number(value any) (int64, bool) {
	switch n := value.(type) {
	case int64:
		return n, true
	case float64:
		return int64(n), true
	case string:
		whole, err := strconv.ParseInt(n, 10, 64)
		return whole, err == nil
	}
	return 0, false
}
