package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strconv"
)

// Evolves returns in what a newer version of an interface breaks the promise of the
// older one, in order of path; nil if who knows either understands both
// (RELATIONS.md, Interfaces): fields are only added, and what is new is optional;
// types and meanings stay; enums only grow, limits only widen; and what is a set in
// the document is written in canonical order, so that a diff shows what changed.
// A published version does not change at all (SAFETY.md S5), its texts for people
// excepted.
func Evolves(before, after Interface) []Violation {
	l := linter{}
	if before.Name != after.Name {
		l.tell("name", "it is another interface", before.Name)
	}
	if after.Version < before.Version {
		l.tell("version", "it is lower than before", fmt.Sprintf("at least %d", before.Version))
	}
	changed := false
	for place := range before.Bags {
		b, a := before.Bags[place], after.Bags[place]
		changed = changed || !reflect.DeepEqual(b.normal(), a.normal())
		l.bag(Place(place).String(), b, a)
	}
	if changed && before.Version == after.Version {
		l.tell("version", "a published version does not change", strconv.Itoa(before.Version+1))
	}
	return inOrder(l.found)
}

type linter struct{ found []Violation }

func (l *linter) tell(path, reason, expected string) {
	l.found = append(l.found, Violation{Path: path, Reason: reason, Expected: expected})
}

// normal returns what a bag is judged by.
func (b Bag) normal() map[string]any {
	return map[string]any{
		"schema": normal(b.source, below(b.source, "$defs")),
		"ready":  slices.Sorted(slices.Values(b.ready)),
		"secret": slices.Sorted(slices.Values(b.secret)),
	}
}

func (l *linter) bag(path string, before, after Bag) {
	l.sorted(path+"/ready", anyList(after.ready))
	l.sorted(path+"/secret", anyList(after.secret))
	l.sets(path+"/schema", after.source)
	for _, f := range before.Fields {
		now, there := after.Field(f.Name)
		at := join(path, f.Name)
		switch {
		case !there:
			l.tell(at, "the field is gone, and applications may still read or write it", "to keep it, as deprecated")
			continue
		case now.Secret != f.Secret:
			l.tell(at, "it was secret or is now, which changes what its value is", "a new field beside it")
		}
		if now.Ready != f.Ready {
			l.tell(at, "whether the relation is ready without it has changed", "ready as before")
		}
	}
	for _, f := range after.Fields {
		if _, known := before.Field(f.Name); !known && f.Ready {
			l.tell(join(path, f.Name), "it is new and the relation is not ready without it, but who knows the older version does not give it", "an optional field")
		}
	}
	l.schema(path, normal(before.source, below(before.source, "$defs")), normal(after.source, below(after.source, "$defs")))
}

// schema compares two normal forms: whatever fitted before fits after.
func (l *linter) schema(path string, before, after map[string]any) {
	typed := before["type"] != nil || before["contentMediaType"] != nil
	if len(after) == 0 && !typed || reflect.DeepEqual(before, never()) {
		return
	}
	for _, keyword := range namesOf(before, after) {
		was, had := before[keyword]
		is, has := after[keyword]
		at := join(path, keyword)
		switch keyword {
		case "properties", "patternProperties":
			l.named(path, keyword, was, is)
		case "additionalProperties", "items", "contentSchema":
			l.schema(at, asMap(was), asMap(is))
		case "type", "contentMediaType":
			if !reflect.DeepEqual(was, is) {
				l.tell(path, "its type has changed", "a new field beside it")
			}
		case "required":
			l.required(path, asList(was), asList(is))
		case "enum":
			l.grows(path, asList(was), asList(is), had, has)
		default:
			l.limit(at, keyword, was, is, had, has)
		}
	}
}

// namesOf returns the names of both maps, in order.
func namesOf(a, b map[string]any) []string {
	all := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(all)
	return slices.Compact(all)
}

// named compares declarations by name. A new one is compared with nothing: it had no meaning before.
func (l *linter) named(path, keyword string, was, is any) {
	for _, name := range slices.Sorted(maps.Keys(asMap(was))) {
		now, there := asMap(is)[name]
		if !there {
			if keyword == "patternProperties" || !isPlace(path) {
				l.tell(join(path, name), "the field is gone, and applications may still read or write it", "to keep it, as deprecated")
			}
			continue
		}
		l.schema(join(path, name), asMap(asMap(was)[name]), asMap(now))
	}
	for _, name := range slices.Sorted(maps.Keys(asMap(is))) {
		if _, there := asMap(was)[name]; !there && keyword == "patternProperties" {
			l.tell(join(path, name), "a pattern that was not there judges names that were free", "a new field")
		}
	}
}

// isPlace reports whether a path is that of a whole bag, whose fields are compared
// by Bag.Fields.
func isPlace(path string) bool {
	for p := ProviderApplication; p <= RequirerUnit; p++ {
		if p.String() == path {
			return true
		}
	}
	return false
}

func (l *linter) required(path string, was, is []any) {
	for _, name := range is {
		if !slices.Contains(was, name) {
			l.tell(join(path, fmt.Sprint(name)), "it is demanded, which it was not before", "an optional name")
		}
	}
	for _, name := range was {
		if !slices.Contains(is, name) {
			l.tell(join(path, fmt.Sprint(name)), "it is demanded no longer, and readers rely on it", "required as before")
		}
	}
}

func (l *linter) grows(path string, was, is []any, had, has bool) {
	if !had && has {
		l.tell(path, "only some values are allowed, which all were before", "no enum")
		return
	}
	for _, v := range was {
		if has && !slices.ContainsFunc(is, func(other any) bool { return compare(v, other) == 0 }) {
			l.tell(path, "an enum only grows, and a value is gone from it", oneOf([]any{v}))
		}
	}
}

// limit compares keywords that restrict: simple ones may vanish, and bounds may
// widen; what combines schemas stays as it is.
func (l *linter) limit(path, keyword string, was, is any, had, has bool) {
	switch {
	case reflect.DeepEqual(was, is), !has && simple(keyword):
	case !had:
		l.tell(path, "it is a restriction that was not there", "none")
	case upper(keyword) && compare(is, was) >= 0, lower(keyword) && compare(is, was) <= 0:
	case upper(keyword) || lower(keyword):
		l.tell(path, "the limit is narrower than before", "at least what was allowed")
	default:
		l.tell(path, "it judges otherwise than before", "what it was, or a new field")
	}
}

// simple reports whether a schema without that keyword allows all that it allowed
// with it, whatever else is there.
func simple(keyword string) bool {
	switch keyword {
	case "pattern", "format", "multipleOf", "uniqueItems", "dependentRequired":
		return true
	default:
		return upper(keyword) || lower(keyword) && keyword != "minContains"
	}
}

func upper(keyword string) bool {
	switch keyword {
	case "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains":
		return true
	default:
		return false
	}
}

func lower(keyword string) bool {
	switch keyword {
	case "minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains":
		return true
	default:
		return false
	}
}

// sets checks that the sets in a schema as it is written are in order.
func (l *linter) sets(path string, v any) {
	m := asMap(v)
	for _, keyword := range slices.Sorted(maps.Keys(m)) {
		at, value := join(path, keyword), m[keyword]
		switch shape := shapeOf(keyword); {
		case keyword == "enum" || keyword == "required" || keyword == "type":
			l.sorted(at, asList(value))
		case shape == one || keyword == "contentSchema":
			l.sets(at, value)
		case shape == several:
			for i, item := range asList(value) {
				l.sets(join(at, strconv.Itoa(i)), item)
			}
		case shape == named || shape == matching || keyword == "$defs":
			for _, name := range slices.Sorted(maps.Keys(asMap(value))) {
				l.sets(join(at, name), asMap(value)[name])
			}
		}
	}
}

func (l *linter) sorted(path string, list []any) {
	for i := 1; i < len(list); i++ {
		if compare(list[i-1], list[i]) >= 0 {
			l.tell(path, "it is a set, and not in canonical order", fmt.Sprintf("%s before %s", oneOf(list[i:i+1]), oneOf(list[i-1:i])))
			return
		}
	}
}

func anyList(texts []string) []any {
	list := make([]any, 0, len(texts))
	for _, t := range texts {
		list = append(list, t)
	}
	return list
}

// compare orders values canonically: numbers by size and before all else, then
// null, truth values, and texts by their bytes.
func compare(a, b any) int {
	x, isNumber := number(a)
	y, too := number(b)
	switch {
	case isNumber && too:
		return x.Cmp(y)
	case isNumber:
		return -1
	case too:
		return 1
	}
	return cmp.Compare(fmt.Sprintf("%T %v", a, a), fmt.Sprintf("%T %v", b, b))
}

func number(v any) (*big.Rat, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return nil, false
	}
	return new(big.Rat).SetString(n.String())
}
