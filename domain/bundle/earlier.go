package bundle

import (
	"fmt"
	"slices"
)

// Earlier returns the revision whose content a person goes back to: that of the revision
// named, or for 0 of the newest healthy one that had another content than the newest. The
// error says which there are.
func (r Record) Earlier(revision int) (content int, err error) {
	_, now := r.Healthy()
	if last := r.Last(); last.State == StateFailed || last.State == StateActive {
		now = last.Content
	}
	var known []int
	for _, v := range slices.Backward(r.Revisions) {
		if v.Number == revision || revision == 0 && v.Healthy && v.ManifestDigest != r.digestOf(now) {
			return v.Content, nil
		}
		known = append(known, v.Number)
	}
	return 0, fmt.Errorf("cannot go back to revision %d: it is not kept, or there is no other healthy content: kept are %v", revision, known)
}

// digestOf is what a revision consists of.
func (r Record) digestOf(number int) string {
	for _, v := range r.Revisions {
		if v.Number == number {
			return v.ManifestDigest
		}
	}
	return ""
}
