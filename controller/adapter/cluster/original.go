package cluster

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// present returns the fields of a set with the values that an object has for them.
func present(o *unstructured.Unstructured, set *fieldpath.Set) ([]bundle.OriginalField, error) {
	var all []bundle.OriginalField
	for path := range set.Leaves().All() {
		text, err := encoded(path)
		if err != nil {
			return nil, err
		}
		now, _ := at(o.Object, path)
		all = append(all, bundle.OriginalField{Path: text, Value: now})
	}
	return all, nil
}

// encoded returns a path as text that names the same field for ever.
func encoded(path fieldpath.Path) (string, error) {
	steps := make([]string, len(path))
	for i, step := range path {
		text, err := fieldpath.SerializePathElement(step)
		if err != nil {
			return "", fmt.Errorf("cannot store path %s: %w", path, err)
		}
		steps[i] = text
	}
	text, err := json.Marshal(steps)
	return string(text), err //nolint:wrapcheck // texts: there is no such error
}

// decoded returns the path that encoded has written.
func decoded(text string) (fieldpath.Path, error) {
	var steps []string
	if err := json.Unmarshal([]byte(text), &steps); err != nil {
		return nil, fmt.Errorf("cannot read path %s: %w", text, err)
	}
	path := make(fieldpath.Path, len(steps))
	for i, step := range steps {
		element, err := fieldpath.DeserializePathElement(step)
		if err != nil {
			return nil, fmt.Errorf("cannot read path %s: %w", text, err)
		}
		path[i] = element
	}
	return path, nil
}

// giving is an adopted object of a world.
type giving struct {
	world  *World
	object *unstructured.Unstructured
}

// giveBack makes an adopted object what it was before. Fields that others have set since are
// theirs, and stay. The marks go last, so that a failure in the middle is repeated.
func (g giving) giveBack(ctx context.Context, original bundle.Original) error {
	before, err := before(g.object, original)
	if err != nil {
		return err
	}
	o, err := g.world.apply(ctx, before, client.ForceOwnership)
	if err != nil {
		return err
	}
	marked := o.DeepCopy()
	release(o)
	patch := client.MergeFromWithOptions(marked, client.MergeFromWithOptimisticLock{})
	return g.world.client.Patch(ctx, o, patch, client.FieldOwner(Manager))
}

// before returns what is applied to give an object back: its marks, and the original values of the
// fields that no other manager has. Fields that it leaves out did not exist.
func before(o *unstructured.Unstructured, original bundle.Original) (bundle.Object, error) {
	owners, err := ownership(o)
	if err != nil {
		return nil, err
	}
	values := map[string]any{}
	for _, f := range original.Fields {
		values[f.Path] = f.Value
	}
	named := &unstructured.Unstructured{Object: map[string]any{}}
	named.SetGroupVersionKind(o.GroupVersionKind())
	named.SetName(o.GetName())
	named.SetNamespace(o.GetNamespace())
	named.SetResourceVersion(o.GetResourceVersion())
	all, err := restored(named.Object, o, original)
	if err != nil {
		return nil, err
	}
	for path := range owners.ours().Leaves().All() {
		text, err := encoded(path)
		if err != nil {
			return nil, err
		}
		was, known := values[text]
		if !known || isMark(path) {
			was, _ = at(o.Object, path)
		}
		if was != nil && owners.holder(path) == "" {
			all = put(all, path, was)
		}
	}
	fields, _ := all.(map[string]any)
	return fields, nil
}

// restored returns an object with the original values of fields that the live object no longer has.
func restored(all any, o *unstructured.Unstructured, original bundle.Original) (any, error) {
	for _, f := range original.Fields {
		path, err := decoded(f.Path)
		if err != nil {
			return nil, err
		}
		if _, there := at(o.Object, path); !there && f.Value != nil {
			all = put(all, path, f.Value)
		}
	}
	return all, nil
}

// put returns a value in which the part at a path is another one.
func put(here any, path fieldpath.Path, content any) any {
	if len(path) == 0 {
		return content
	}
	step, rest := path[0], path[1:]
	if step.FieldName != nil {
		fields, _ := here.(map[string]any)
		if fields == nil {
			fields = map[string]any{}
		}
		fields[*step.FieldName] = put(fields[*step.FieldName], rest, content)
		return fields
	}
	list, _ := here.([]any)
	if step.Key == nil {
		return append(list, content)
	}
	for i, one := range list {
		if fields, _ := one.(map[string]any); agrees(fields, *step.Key) == len(*step.Key) {
			list[i] = put(one, rest, content)
			return list
		}
	}
	return append(list, put(keyed(*step.Key), rest, content))
}

// keyed returns an element of a list that has only its key.
func keyed(key value.FieldList) map[string]any {
	fields := map[string]any{}
	for _, part := range key {
		fields[part.Name] = part.Value.Unstructured()
	}
	return fields
}

// isMark reports whether a path leads to one of Orcon's own marks.
func isMark(path fieldpath.Path) bool {
	last := path[len(path)-1].FieldName
	return last != nil && (*last == bundle.OwnerKey || *last == bundle.DigestKey || *last == bundle.DeploymentKey)
}

// release takes the marks from an object, and its fields from this manager.
func release(o *unstructured.Unstructured) {
	for _, key := range []string{bundle.OwnerKey, bundle.DigestKey} {
		unstructured.RemoveNestedField(o.Object, "metadata", "annotations", key)
	}
	unstructured.RemoveNestedField(o.Object, "metadata", "labels", bundle.DeploymentKey)
	// An empty list would be taken for a client that knows no managers.
	left := []metav1.ManagedFieldsEntry{}
	for _, entry := range o.GetManagedFields() {
		if entry.Manager != Manager || entry.Subresource != "" {
			left = append(left, entry)
		}
	}
	if len(left) == 0 {
		left = append(left, metav1.ManagedFieldsEntry{})
	}
	o.SetManagedFields(left)
}
