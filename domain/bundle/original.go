package bundle

import (
	"encoding/json"
	"reflect"
	"slices"
)

// Original has the values that fields of an object of others had before a deployment first set
// them. An object that has one is not deleted: it gets these values back (TRUST.md T9).
type Original struct {
	ID     ID
	Fields []OriginalField
}

// Digest identifies the original: a plan that gives it back is approved for these values alone. It is
// empty for a nil one.
func (o *Original) Digest() string {
	if o == nil {
		return ""
	}
	text, err := json.Marshal(o)
	if err != nil {
		return "" // values of an API server: there is no such error
	}
	return digest(string(text))
}

// OriginalField is a field that a deployment has set, and its value before.
type OriginalField struct {
	// Path leads to the field; only the cluster reads it.
	Path string
	// Value is nil if the field did not exist.
	Value any
}

// Originals are those of all adopted objects of a deployment, in the order of their IDs.
type Originals []Original

// of returns the original of an object; nil if the deployment has made it.
func (all Originals) of(id ID) *Original {
	for i := range all {
		if all[i].ID == id {
			return &all[i]
		}
	}
	return nil
}

// Overwrite returns the originals to be stored before objects are written: those of all fields that
// the writes set. An object that is created has none. changed is false if they are the same.
func (all Originals) Overwrite(writes []Write) (next Originals, changed bool) {
	next = all
	for _, w := range writes {
		id := w.Object.ID()
		rest := next.without(id)
		if original := next.of(id).overwrite(w); original != nil {
			rest = append(rest, *original)
		}
		next = rest
	}
	slices.SortFunc(next, func(a, b Original) int { return a.ID.Compare(b.ID) })
	return next, len(all)+len(next) > 0 && !reflect.DeepEqual(all, next)
}

// without returns the originals of all objects but some.
func (all Originals) without(ids ...ID) Originals {
	return slices.DeleteFunc(slices.Clone(all), func(o Original) bool { return slices.Contains(ids, o.ID) })
}

// overwrite returns the original after a write; nil if there is none.
func (o *Original) overwrite(w Write) *Original {
	switch {
	case w.Adopts: // a write that never arrived may have left another original
		return &Original{ID: w.Object.ID(), Fields: w.Fields}
	case o == nil || w.ResourceVersion == "":
		return nil
	}
	fields := slices.DeleteFunc(slices.Clone(w.Fields), o.has)
	return &Original{ID: o.ID, Fields: slices.Concat(o.Fields, fields)}
}

// has reports whether a field was set before.
func (o *Original) has(f OriginalField) bool {
	return slices.ContainsFunc(o.Fields, func(known OriginalField) bool { return known.Path == f.Path })
}
