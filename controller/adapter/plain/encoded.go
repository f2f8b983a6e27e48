package plain

import (
	"encoding/json"
	"fmt"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// What a bundle may render to. Both bound the memory that its objects take in the controller.
const (
	// MaxRendered is how large all objects of a bundle may be as JSON, in bytes: 8 MiB.
	MaxRendered = 8 << 20
	// MaxValues is how many values all objects may have: maps, lists and what is in them.
	MaxValues = 400_000
)

// Encode returns objects as JSON, which Decode reads. More than a bundle may render to is an error
// (bundle.ErrLimit).
func Encode(objects []bundle.Object) ([]byte, error) {
	count := 0
	for _, o := range objects {
		count += values(map[string]any(o))
	}
	if count > MaxValues {
		return nil, fmt.Errorf("%w: it renders to %d values, more than %d: split the bundle", bundle.ErrLimit, count, MaxValues)
	}
	text, err := json.Marshal(objects)
	if err != nil {
		return nil, fmt.Errorf("cannot write the objects as JSON: %w", err)
	}
	if len(text) > MaxRendered {
		return nil, fmt.Errorf("%w: it renders to %d KiB, more than %d MiB: split the bundle", bundle.ErrLimit, len(text)>>10, MaxRendered>>20)
	}
	return text, nil
}

// Decode returns the objects that Encode has written.
func Decode(text []byte) ([]bundle.Object, error) {
	var all []any
	if err := utiljson.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("cannot read the objects: %w", err)
	}
	objects := make([]bundle.Object, len(all))
	for i, one := range all {
		o, ok := one.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("cannot read object %d: it is not a map", i)
		}
		objects[i] = o
	}
	return objects, nil
}

// values counts a value and those in it.
func values(value any) int {
	count := 1
	switch v := value.(type) {
	case map[string]any:
		for _, below := range v {
			count += values(below)
		}
	case []any:
		for _, below := range v {
			count += values(below)
		}
	}
	return count
}
