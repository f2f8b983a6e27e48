package bundle

import (
	"fmt"
	"slices"
	"strings"
)

// Drifted is an object of a healthy revision that something else has changed or deleted.
type Drifted struct {
	ID ID
	// Deleted reports that the object is gone; Fields are the paths that differ otherwise.
	Deleted bool
	Fields  []string
}

// fewFields is how many changed fields a text names.
const fewFields = 3

// String describes what happened to the object.
func (d Drifted) String() string {
	switch more := len(d.Fields) - fewFields; {
	case d.Deleted:
		return d.ID.String() + " was deleted"
	case len(d.Fields) == 0:
		return d.ID.String() + " was changed"
	case more > 0:
		return fmt.Sprintf("%s was changed (%s and %d more)", d.ID, strings.Join(d.Fields[:fewFields], ", "), more)
	}
	return fmt.Sprintf("%s was changed (%s)", d.ID, strings.Join(d.Fields, ", "))
}

// Drifted returns the objects that Correct would write, as live shows them, by name.
func (n Next) Drifted(live map[ID]Live) []Drifted {
	var all []Drifted
	for _, w := range n.Apply {
		id := w.Object.ID()
		d := Drifted{ID: id, Deleted: live[id].Object == nil}
		for _, c := range shown(id, live[id].Changes) {
			d.Fields = append(d.Fields, c.Path)
		}
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b Drifted) int { return a.ID.Compare(b.ID) })
	return all
}
