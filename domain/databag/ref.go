package databag

// Ref refers to the content of a bag by its version: equal contents have equal
// references. The zero Ref refers to no content: it is not kept any more, or may
// not be read.
type Ref struct{ Version string }

// emptyVersion is the version of a content without keys.
const emptyVersion = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// RefTo returns the reference to a content. A nil content is none, and an empty one
// is not.
func RefTo(content map[string]string) Ref {
	switch {
	case content == nil:
		return Ref{}
	case len(content) == 0:
		return Ref{emptyVersion}
	default:
		return Ref{Version(content)}
	}
}

// IsZero reports whether r refers to no content.
func (r Ref) IsZero() bool { return r == Ref{} }

// Empty reports whether there is nothing to read: r refers to no content, or to one
// without keys.
func (r Ref) Empty() bool { return r.OrEmpty().Version == emptyVersion }

// OrEmpty returns r, or the reference to an empty content in place of the zero Ref,
// for places where none and an empty one are the same.
func (r Ref) OrEmpty() Ref {
	if r.IsZero() {
		return Ref{emptyVersion}
	}
	return r
}
