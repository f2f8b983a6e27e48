package cluster

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// owners maps the fields of an object to their managers.
type owners struct {
	// applied and created are ours: set by applying, and by creating the object.
	applied, created *fieldpath.Set
	others           []holding
}

// holding lists the fields of another manager.
type holding struct {
	manager string
	fields  *fieldpath.Set
}

// ownership reads the managed fields of an object.
func ownership(o *unstructured.Unstructured) (owners, error) {
	all := owners{applied: fieldpath.NewSet(), created: fieldpath.NewSet()}
	for _, entry := range o.GetManagedFields() {
		if entry.FieldsV1 == nil {
			continue
		}
		fields := fieldpath.NewSet()
		if err := fields.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
			return all, fmt.Errorf("cannot read the fields of manager %s of %s %s: %w", entry.Manager, o.GetKind(), o.GetName(), err)
		}
		switch {
		case entry.Manager != Manager || entry.Subresource != "":
			all.others = append(all.others, holding{entry.Manager, fields})
		case entry.Operation == metav1.ManagedFieldsOperationApply:
			all.applied = all.applied.Union(fields)
		default:
			all.created = all.created.Union(fields)
		}
	}
	return all, nil
}

// ours are all fields that this manager has.
func (o owners) ours() *fieldpath.Set { return o.applied.Union(o.created) }

// missing returns our fields that no one has any more if others are those that we apply.
func (o owners) missing(is owners) *fieldpath.Set {
	missing := fieldpath.NewSet()
	for path := range o.ours().Leaves().Difference(is.applied).All() {
		if o.holder(path) == "" && below(is.applied, path).Empty() {
			missing.Insert(path)
		}
	}
	return missing
}

// holder returns the other manager of a field; empty for none.
func (o owners) holder(path fieldpath.Path) string {
	for _, h := range o.others {
		if h.fields.Has(path) {
			return h.manager
		}
	}
	return ""
}

// at returns what lies at a path. In a list, what lacks a part of the key counts as
// having it if nothing has it all: authors leave out what has a default.
func at(object map[string]any, path fieldpath.Path) (any, bool) {
	var here any = object
	for _, step := range path {
		found := false
		switch at := here.(type) {
		case map[string]any:
			if step.FieldName != nil {
				here, found = at[*step.FieldName]
			}
		case []any:
			here, found = element(at, step)
		}
		if !found {
			return nil, false
		}
	}
	return here, true
}

func element(list []any, step fieldpath.PathElement) (any, bool) {
	best, most := any(nil), 0
	for i, one := range list {
		fields, _ := one.(map[string]any)
		switch {
		case step.Index != nil && *step.Index == i, step.Value != nil && value.Equals(*step.Value, value.NewValueInterface(one)):
			return one, true
		case step.Key != nil && agrees(fields, *step.Key) > most:
			best, most = one, agrees(fields, *step.Key)
		}
	}
	return best, most > 0
}

// agrees is how many parts of a key an element has; none if it has another for one.
func agrees(fields map[string]any, key value.FieldList) int {
	parts := 0
	for _, part := range key {
		has, there := fields[part.Name]
		if there && !value.Equals(part.Value, value.NewValueInterface(has)) {
			return 0
		}
		if there {
			parts++
		}
	}
	return parts
}
