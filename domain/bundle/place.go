package bundle

import (
	"encoding/base64"
	"fmt"
)

// Place gives each namespaced object the namespace of its deployment, and removes namespaces from objects of the
// whole cluster. namespaced reports the scope of a kind; known is false for kinds that the cluster does not have. The
// bundle's own definitions give the scope of those; objects of unknown kinds stay as they are.
func Place(objects []Object, namespace string, namespaced func(group, kind string) (namespaced, known bool, err error)) ([]Object, error) {
	own := map[ID]bool{}
	for _, o := range objects {
		if o.ID().kind() == definition {
			own[ID{Group: o.Text("spec", "group"), Kind: o.Text("spec", "names", "kind")}] = o.Text("spec", "scope") == "Namespaced"
		}
	}
	var placed []Object
	for _, o := range objects {
		id := o.ID()
		inside, known, err := namespaced(id.Group, id.Kind)
		if err != nil {
			return nil, fmt.Errorf("cannot find out whether %s is namespaced: %w", id, err)
		}
		if !known {
			inside, known = own[ID{Group: id.Group, Kind: id.Kind}]
		}
		switch {
		case known && inside && id.Namespace == "":
			o = o.with(namespace, "metadata", "namespace")
		case known && !inside && id.Namespace != "":
			o = o.without("metadata", "namespace")
		}
		if o, err = o.encoded(); err != nil {
			return nil, err
		}
		placed = append(placed, o)
	}
	return placed, nil
}

// encoded moves the clear text of a Secret to the field where it is stored, since only there it can be compared with
// the live one. The error names a field that is not a text, without its value (BUNDLES.md 10).
func (o Object) encoded() (Object, error) {
	if o.ID().kind() != "Secret" {
		return o, nil
	}
	texts := map[string]map[string]string{"data": {}, "stringData": {}}
	for field, values := range texts {
		all, _ := o.At(field).(map[string]any)
		for key, value := range all {
			text, ok := value.(string)
			if !ok {
				return o, fmt.Errorf("cannot use %s: %s.%s is not a string: put it in quotes", o.ID(), field, key)
			}
			values[key] = text
		}
	}
	o = o.without("stringData")
	for key, text := range texts["stringData"] {
		o = o.with(base64.StdEncoding.EncodeToString([]byte(text)), "data", key)
	}
	return o, nil
}

// without returns a copy of the object without what lies at a path of names.
func (o Object) without(path ...string) Object {
	last := len(path) - 1
	fields, ok := o.At(path[:last]...).(map[string]any)
	if !ok {
		return o
	}
	left := Object{}
	for key, value := range fields {
		if key != path[last] {
			left[key] = value
		}
	}
	if last == 0 {
		return left
	}
	return o.with(map[string]any(left), path[0], path[1:last]...)
}
