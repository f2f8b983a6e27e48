package bundle_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// A content is shown by one number in every revision that has it: a rollback by a person
// has the number of the revision it goes back to (FIRST-HOUR 11).
func TestTwin(t *testing.T) {
	r := bundle.Record{Revisions: []bundle.Revision{
		{Number: 1, Content: 1, ManifestDigest: "blue"},
		{Number: 2, Content: 2, ManifestDigest: "green"},
		{Number: 3, Content: 3, ManifestDigest: "blue"}, // by a person
		{Number: 4, Content: 4, ManifestDigest: "red"},
		{Number: 5, Content: 3, ManifestDigest: "blue"}, // by itself
		{Number: 6, Content: 6, ManifestDigest: "green"},
	}}
	var shown []int
	for _, v := range r.Revisions {
		shown = append(shown, r.Twin(v))
	}
	assert.Equal(t, []int{1, 2, 1, 4, 1, 2}, shown)
	assert.Equal(t, 3, bundle.Record{Revisions: r.Revisions[2:]}.Twin(r.Revisions[4]), "what is forgotten has no number")
}
