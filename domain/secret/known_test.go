package secret_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// Each unit is told of the secrets that it keeps to a revision of; who cares for one,
// when that is due; nobody of what is others'.
func TestKnownTo(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	s := secret.Secret{
		ID: id, Owner: secret.Owner{Application: "db"}, Label: "admin", Rotates: noon, Latest: 3,
		Revisions: []secret.Revision{{Number: 1}, {Number: 3, Expires: noon.Add(time.Hour)}},
		Readers: []secret.Reader{
			{Application: "web", Unit: "0", Revision: 1, Label: "db-password"}, {Application: "web", Unit: "1", Revision: 3},
			{Application: "cms", Unit: "0", Revision: 3}, {Application: "db", Unit: "2", Label: "mine"},
		},
	}
	assert.Equal(t, []secret.Known{{Unit: "0", ID: id, Label: "db-password", Latest: 3, Kept: 1}, {Unit: "1", ID: id, Latest: 3, Kept: 3}}, s.KnownTo("web", "1"))
	assert.Equal(t, []secret.Known{{Unit: "2", ID: id, Label: "admin", Latest: 3, Rotates: noon, Expires: noon.Add(time.Hour)}}, s.KnownTo("db", "2"))
	assert.Empty(t, s.KnownTo("db", ""), "nobody leads it")
	assert.Empty(t, s.KnownTo("thief", "0"))
	s.Owner.Unit = "7"
	assert.Equal(t, []secret.Known{{Unit: "7", ID: id, Label: "admin", Latest: 3, Own: true, Rotates: noon, Expires: noon.Add(time.Hour)}}, s.KnownTo("db", "2"), "the unit's own is its own affair")
	assert.Empty(t, secret.Secret{ID: id, Owner: s.Owner}.KnownTo("db", "7"), "it has ended")
}
