package schema

import (
	"maps"
	"slices"
	"strings"
)

// normal returns a schema with references written out, annotations left out, const
// as an enum of one, and true and false as {} and {not: {}}: equal normal forms
// judge alike. Only schemas that were weighed may come here.
func normal(v any, defs map[string]any) map[string]any {
	m, ok := v.(map[string]any)
	if !ok {
		if v == false {
			return never()
		}
		return map[string]any{}
	}
	out := map[string]any{}
	for keyword, value := range m {
		if !annotation(keyword) && keyword != "$ref" && keyword != "$defs" {
			out[keyword] = normalKeyword(keyword, value, defs)
		}
	}
	if only, ok := out["const"]; ok && out["enum"] == nil {
		delete(out, "const")
		out["enum"] = []any{only}
	}
	if ref, ok := m["$ref"].(string); ok {
		return meet(out, normal(defs[strings.TrimPrefix(ref, "#/$defs/")], defs))
	}
	return out
}

func never() map[string]any { return map[string]any{"not": map[string]any{}} }

func normalKeyword(keyword string, v any, defs map[string]any) any {
	switch shape := shapeOf(keyword); {
	case shape == one || keyword == "contentSchema":
		return normal(v, defs)
	case shape == several:
		all := make([]any, 0, len(asList(v)))
		for _, item := range asList(v) {
			all = append(all, normal(item, defs))
		}
		return all
	case shape == named || shape == matching:
		all := make(map[string]any, len(asMap(v)))
		for name, item := range asMap(v) {
			all[name] = normal(item, defs)
		}
		return all
	case keyword == "type":
		return types(v)
	case keyword == "enum" || keyword == "required":
		return slices.SortedFunc(slices.Values(asList(v)), compare)
	default:
		return v
	}
}

// meet joins what stands beside a reference with what it leads to: side by side
// where they do not touch, else as one more member of allOf.
func meet(beside, target map[string]any) map[string]any {
	for keyword := range target {
		if _, both := beside[keyword]; both || dependent(keyword) {
			if len(beside) == 0 {
				return target
			}
			return map[string]any{"allOf": []any{beside, target}}
		}
	}
	maps.Copy(beside, target)
	return beside
}

// dependent reports whether a keyword means something else beside others.
func dependent(keyword string) bool {
	switch keyword {
	case "additionalProperties", "properties", "patternProperties", "items", "prefixItems", "contains", "minContains", "maxContains", "if", "then", "else":
		return true
	default:
		return false
	}
}

// types returns the value of type as a sorted list.
func types(v any) []any {
	if text, ok := v.(string); ok {
		return []any{text}
	}
	return slices.SortedFunc(slices.Values(asList(v)), compare)
}
