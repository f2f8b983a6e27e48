package data

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Quantity is an amount of a resource. Data write it with quotes and without.
type Quantity string

// decoder reads values into Go types. Structs name their fields by tags:
//
//	`yaml:"name"`                    the field's name; "-" is not read
//	`yaml:",inline"`                 a struct's fields, or a map for unknown fields
//	`data:"required"`                absent, null and "" are problems
//	`data:"Allow Forbid Replace"`    the values that a text may have
//
// A field of type value stays undecoded.
type decoder struct {
	// strict refuses unknown fields of structs that have no inline map.
	strict bool
}

// targetField is a field of a struct that is decoded into.
type targetField struct {
	name  string
	rule  string
	value reflect.Value
}

// decode fills what target points to. It returns all problems.
func decode(v value, target any, strict bool) []Problem {
	return decoder{strict}.into(v, reflect.ValueOf(target).Elem())
}

func (d decoder) into(v value, target reflect.Value) []Problem {
	if target.Type() == reflect.TypeFor[value]() {
		target.Set(reflect.ValueOf(v))
		return nil
	}
	if v.absent() {
		return nil
	}
	switch target.Kind() {
	case reflect.Pointer:
		target.Set(reflect.New(target.Type().Elem()))
		return d.into(v, target.Elem())
	case reflect.Struct:
		return d.object(v, target)
	case reflect.Slice:
		return d.list(v, target)
	case reflect.String:
		return text(v, target)
	default:
		return scalar(v, target)
	}
}

func (d decoder) list(v value, target reflect.Value) []Problem {
	items, problems := v.items()
	list := reflect.MakeSlice(target.Type(), len(items), len(items))
	for i, item := range items {
		if item.absent() {
			problems = append(problems, item.refuse("the element is empty", "write it or remove the dash")...)
			continue
		}
		problems = append(problems, d.into(item, list.Index(i))...)
	}
	target.Set(list)
	return problems
}

func (d decoder) object(v value, target reflect.Value) []Problem {
	pairs, problems := v.fields()
	known, extra := targets(target)
	for _, f := range pairs {
		i := slices.IndexFunc(known, func(t targetField) bool { return t.name == f.name })
		switch {
		case i >= 0:
			problems = append(problems, d.into(f.value, known[i].value)...)
			problems = append(problems, oneOf(f.value, known[i])...)
		case extra.IsValid():
			problems = append(problems, added(f, extra)...)
		case d.strict:
			problems = append(problems, unknown(f, names(known)))
		}
	}
	for _, t := range known {
		if t.rule == "required" && !t.given(pairs) {
			problems = append(problems, v.refuse(fmt.Sprintf("field %q is missing", t.name), "add it")...)
		}
	}
	return problems
}

// given reports whether a required field has a value.
func (t targetField) given(pairs []pair) bool {
	i := slices.IndexFunc(pairs, func(f pair) bool { return f.name == t.name })
	if i < 0 || pairs[i].value.absent() {
		return false
	}
	node := pairs[i].value.node
	return t.value.Kind() != reflect.String || node.Kind != yaml.ScalarNode || node.Value != ""
}

// added reads a field into the map for unknown ones.
func added(f pair, extra reflect.Value) []Problem {
	var found any
	problems := scalar(f.value, reflect.ValueOf(&found).Elem())
	if extra.IsNil() {
		extra.Set(reflect.MakeMap(extra.Type()))
	}
	extra.SetMapIndex(reflect.ValueOf(f.name), reflect.ValueOf(&found).Elem())
	return problems
}

// unknown describes a field that does not exist.
func unknown(f pair, known []string) Problem {
	return Problem{f.key, fmt.Sprintf("unknown field %q", f.name), Suggest(f.name, known)}
}

// targets lists the fields of a struct, and its map for unknown fields if it has one.
func targets(target reflect.Value) (known []targetField, extra reflect.Value) {
	for i := range target.NumField() {
		tag := target.Type().Field(i).Tag
		name, options, _ := strings.Cut(tag.Get("yaml"), ",")
		switch {
		case name == "-":
		case options == "inline" && target.Field(i).Kind() == reflect.Map:
			extra = target.Field(i)
		case options == "inline":
			inner, more := targets(target.Field(i))
			known = append(known, inner...)
			if more.IsValid() {
				extra = more
			}
		default:
			known = append(known, targetField{name, tag.Get("data"), target.Field(i)})
		}
	}
	return known, extra
}

func names(fields []targetField) []string {
	var all []string
	for _, f := range fields {
		all = append(all, f.name)
	}
	return all
}

// oneOf checks a text whose values are listed.
func oneOf(v value, t targetField) []Problem {
	if t.rule == "" || t.rule == "required" || v.absent() || v.node.Kind != yaml.ScalarNode {
		return nil
	}
	if allowed := strings.Fields(t.rule); !slices.Contains(allowed, v.node.Value) {
		return v.refuse(fmt.Sprintf("%q is not a value of %s", v.node.Value, t.name), Suggest(v.node.Value, allowed))
	}
	return nil
}

// text reads a string. A number or boolean that YAML made of an unquoted value is
// refused: 0123456 and 12e4567 would become other texts.
func text(v value, target reflect.Value) []Problem {
	if v.node.Kind != yaml.ScalarNode {
		return v.refuse("it is not a text", "write one value")
	}
	tag := v.node.ShortTag()
	quantity := target.Type() == reflect.TypeFor[Quantity]() && (tag == "!!int" || tag == "!!float")
	if tag != "!!str" && !quantity {
		kind := map[string]string{"!!bool": "boolean", "!!int": "number", "!!float": "number", "!!timestamp": "date"}[tag]
		reason := fmt.Sprintf("YAML reads the unquoted %s as a %s", v.node.Value, cmp.Or(kind, tag))
		return v.refuse(reason, fmt.Sprintf("quote it: %q", v.node.Value))
	}
	target.SetString(v.node.Value)
	return nil
}

// scalar reads a boolean, a number, or anything into an any.
func scalar(v value, target reflect.Value) []Problem {
	if err := v.node.Decode(target.Addr().Interface()); err != nil {
		kind := map[reflect.Kind]string{reflect.Bool: "true or false", reflect.Int: "a whole number"}[target.Kind()]
		if kind == "" {
			return v.refuse("the value cannot be read: "+err.Error(), "correct it")
		}
		return v.refuse(fmt.Sprintf("%q is not %s", v.node.Value, kind), "write "+kind)
	}
	return nil
}
