package agent

import (
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// Granted is a Secret of somebody's that the other side of a relation grants by
// reference; without an ID there is none (SAFETY.md S1).
type Granted struct {
	ID       string
	Revision int64
}

// Content is what was read of a Secret that is granted, as of a revision. It is in this
// process and in the bindings, which are in memory, and is remembered on no disk.
type Content struct {
	Revision int64
	Files    map[string]string
}

// Unread lists what relations grant and was not read as of that revision, each once.
func (v View) Unread() []Granted {
	var all []Granted
	for _, r := range v.Relations {
		wanted := r.Granted.ID != "" && r.Present && !r.Ended && !r.Suspended
		if held, read := v.Contents[r.Granted.ID]; wanted && (!read || held.Revision != r.Granted.Revision) && !slices.Contains(all, r.Granted) {
			all = append(all, r.Granted)
		}
	}
	return all
}

// read reports whether all that a relation shows is known: what it grants too.
func (v View) read(r Relation) bool {
	_, read := v.Contents[r.Granted.ID]
	return read || r.Granted.ID == ""
}

// AllRead reports whether nothing is missing of what is granted.
func (v View) AllRead() bool {
	return !slices.ContainsFunc(v.Relations, func(r Relation) bool { return !r.Ended && !v.read(r) })
}

// refers reports whether a value of the relation's bag is the reference to what it
// grants, which is of use for tools alone.
func (r Relation) refers(value string) bool {
	return r.Granted.ID != "" && value == secret.Reference(r.Granted.ID)
}

// KeepContents keeps what was read as long as a relation grants it.
func (v *View) KeepContents(held map[string]Content) {
	v.Contents = nil
	for _, r := range v.Relations {
		content, read := held[r.Granted.ID]
		if !read || r.Ended {
			continue
		}
		if v.Contents == nil {
			v.Contents = map[string]Content{}
		}
		v.Contents[r.Granted.ID] = content
	}
}
