package data

import "slices"

// Presence is whether the data run an integration in a namespace.
type Presence int

// The answers. Only Absent is a reason to delete.
const (
	// Absent means that the files were read without error and do not name the namespace,
	// or that they are gone.
	Absent Presence = iota
	// Present means that an entry names the namespace.
	Present
	// Uncertain means that a file that may name it cannot be trusted.
	Uncertain
)

// Presence reports whether an integration's file names a namespace, both by path; file
// "" is any file. Filters do not change the answer.
func (d Data) Presence(file, namespace string) Presence {
	answer := Absent
	if file != "" && d.Has(file) && !slices.ContainsFunc(d.Integrations, func(i Integration) bool { return i.Location.File == rooted(file) }) {
		return Uncertain // it has become a file of another kind
	}
	if file == "" && len(d.Problems) > 0 {
		answer = Uncertain
	}
	for _, i := range d.Integrations {
		if file != "" && i.Location.File != rooted(file) {
			continue
		}
		switch i.presence(rooted(namespace)) {
		case Present:
			return Present
		case Uncertain:
			answer = Uncertain
		case Absent:
		}
	}
	return answer
}

// presence reports whether the integration's file names a namespace.
func (i Integration) presence(namespace string) Presence {
	named := func(path string) bool {
		return slices.ContainsFunc(i.Entries, func(e Entry) bool { return e.Namespace.Path == path })
	}
	switch {
	case named(namespace):
		return Present
	case len(i.Held) > 0 || named(""):
		return Uncertain
	default:
		return Absent
	}
}
