package bundle

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Earlier returns the revision whose content a person goes back to: that of the revision
// named, or for 0 of the newest healthy one that had another content than the newest. The
// error says which there are, and is ErrQuarantined for what has failed.
func (r Record) Earlier(revision int) (content int, err error) {
	_, now := r.Healthy()
	if last := r.Last(); last.State == StateFailed || last.State == StateActive {
		now = last.Content
	}
	var known []string
	for _, v := range slices.Backward(r.Revisions) {
		switch quarantined := slices.Contains(r.Quarantined, v.ManifestDigest); {
		case v.Number == revision && quarantined:
			return 0, fmt.Errorf("cannot go back to revision %d: %w", revision, ErrQuarantined)
		case v.Number == revision, revision == 0 && v.Healthy && !quarantined && v.ManifestDigest != r.digestOf(now):
			return v.Content, nil
		}
		known = append(known, strconv.Itoa(v.Number))
	}
	if revision == 0 {
		return 0, fmt.Errorf("cannot go back: no other revision succeeded: the record has revisions %s", strings.Join(known, ", "))
	}
	return 0, fmt.Errorf("cannot go back to revision %d: the record does not have it: it has %s", revision, strings.Join(known, ", "))
}

// Twin returns the number under which the content of a revision is shown: that of the
// oldest kept revision with the same objects. Content itself tells which revision's
// stored objects it has, and is another after a rollback by a person.
func (r Record) Twin(v Revision) int {
	for _, older := range r.Revisions {
		if older.ManifestDigest == v.ManifestDigest {
			return older.Number
		}
	}
	return v.Content
}

// digestOf returns the digest of a revision's content.
func (r Record) digestOf(number int) string {
	for _, v := range r.Revisions {
		if v.Number == number {
			return v.ManifestDigest
		}
	}
	return ""
}
