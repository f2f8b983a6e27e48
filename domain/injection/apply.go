package injection

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/jsonpatch"
)

// apply carries out operations on a decoded document. It knows
// add and remove, which is all that this package writes; where there is no
// parent it fails, as the API server does.
func apply(document map[string]any, operations []jsonpatch.Operation) error {
	for _, o := range operations {
		var value any
		if o.Op == "add" {
			if err := convert(o.Value, &value); err != nil {
				return err
			}
		}
		if _, err := change(document, strings.Split(o.Path, "/")[1:], o.Op, value); err != nil {
			return fmt.Errorf("cannot %s %s: %w", o.Op, o.Path, err)
		}
	}
	return nil
}

// change returns node with the step done at the rest of its path.
func change(node any, path []string, op string, value any) (any, error) {
	key := strings.ReplaceAll(strings.ReplaceAll(path[0], "~1", "/"), "~0", "~")
	switch n := node.(type) {
	case map[string]any:
		return n, changeMap(n, key, path, op, value)
	case []any:
		return changeList(n, key, path, op, value)
	default:
		return nil, fmt.Errorf("%w: nothing can be put into %T", ErrManifest, node)
	}
}

func changeMap(n map[string]any, key string, path []string, op string, value any) error {
	switch {
	case len(path) > 1:
		child, err := change(n[key], path[1:], op, value)
		if err != nil {
			return err
		}
		n[key] = child
	case op == "remove":
		delete(n, key)
	default:
		n[key] = value
	}
	return nil
}

func changeList(n []any, key string, path []string, op string, value any) ([]any, error) {
	index := len(n)
	if key != "-" {
		parsed, err := strconv.Atoi(key)
		if err != nil || parsed < 0 || parsed > len(n) {
			return nil, fmt.Errorf("%w: a list of %d has no place %q", ErrManifest, len(n), key)
		}
		index = parsed
	}
	switch {
	case len(path) > 1:
		if index >= len(n) {
			return nil, fmt.Errorf("%w: a list of %d has no item %q", ErrManifest, len(n), key)
		}
		child, err := change(n[index], path[1:], op, value)
		if err != nil {
			return nil, err
		}
		n[index] = child
		return n, nil
	case op == "remove":
		return slices.Delete(n, index, index+1), nil
	default:
		return slices.Insert(n, index, value), nil
	}
}
