package bundle

import "strings"

// longestLabel is how many characters the value of a label has at most.
const longestLabel = 63

// marked returns the item's object with the marks by which its owner knows it again.
func (i Item) marked(owner string) Object {
	return i.Object.with(owner, "metadata", "annotations", OwnerKey).with(i.Digest, "metadata", "annotations", DigestKey).labelled(owner)
}

// labelled returns the object with the label of a deployment (namespace/name), unless the name
// is too long for a label.
func (o Object) labelled(owner string) Object {
	_, name, _ := strings.Cut(owner, "/")
	if len(name) > longestLabel {
		return o
	}
	return o.with(name, "metadata", "labels", DeploymentKey)
}

// applied reports whether the live object has the item's content, by the owner's own marks. The
// label may be missing: earlier versions did not write it.
func (i Item) applied(owner string, l Live) bool {
	situation, _ := l.Situation(owner)
	return situation == Ours && l.Object.Annotation(DigestKey) == i.Digest && !l.Differs() && !l.leaving()
}

// label reports whether a change is that of DeploymentKey, which belongs to Orcon alone.
func (c Change) label() bool { return c.Path == "metadata.labels."+DeploymentKey }

// mark reports whether a change is one of Orcon's own marks.
func (c Change) mark() bool {
	return c.label() || strings.Contains(c.Path, OwnerKey) || strings.Contains(c.Path, DigestKey)
}

// Differs reports whether applying would change more of the object than its label.
func (l Live) Differs() bool {
	for _, c := range l.Changes {
		if !c.label() {
			return true
		}
	}
	return false
}
