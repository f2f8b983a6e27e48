package secret_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// Each unit is told of the secrets that it keeps to a revision of; who cares for one,
// when that is due; nobody of what is others'.
func TestKnownTo(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	s := secret.Secret{
		ID: id, Owner: secret.Owner{Application: "db"}, Label: "admin", Rotates: noon, Latest: 3,
		Revisions: []secret.Revision{{Number: 1}, {Number: 3, Expires: noon.Add(time.Hour)}},
		Access: []secret.Access{
			{Relation: "r", Application: "web"}, {Relation: "s", Application: "cms"}, {Relation: "p", Application: "db"},
			{Relation: "r", Application: "shop", Unit: "1"}, {Relation: "r", Application: "bank", Revoked: true},
		},
		Readers: []secret.Reader{
			{Application: "web", Unit: "0", Revision: 1, Label: "db-password"}, {Application: "web", Unit: "1", Revision: 3},
			{Application: "cms", Unit: "0", Revision: 3}, {Application: "db", Unit: "2", Label: "mine"},
			{Application: "shop", Unit: "0", Revision: 1}, {Application: "shop", Unit: "1", Revision: 1}, {Application: "bank", Unit: "0", Revision: 1},
		},
	}
	open := []string{"r", "s"}
	assert.Equal(t, []secret.Known{{Unit: "0", Secret: conversation.Secret{ID: id, Label: "db-password", Latest: 3, Kept: 1}}, {Unit: "1", Secret: conversation.Secret{ID: id, Latest: 3, Kept: 3}}}, s.KnownTo("web", "1", open))
	assert.Equal(t, []secret.Known{{Unit: "2", Secret: conversation.Secret{ID: id, Label: "admin", Latest: 3, Rotates: noon, Expires: noon.Add(time.Hour)}}}, s.KnownTo("db", "2", open))
	assert.Empty(t, s.KnownTo("db", "", open), "nobody leads it")
	assert.Empty(t, s.KnownTo("thief", "0", open))
	assert.Len(t, s.KnownTo("cms", "", open), 1)
	assert.Empty(t, s.KnownTo("cms", "", []string{"r"}), "its relation has ended or is suspended: it could only fail")
	assert.Equal(t, []secret.Known{{Unit: "1", Secret: conversation.Secret{ID: id, Latest: 3, Kept: 1}}}, s.KnownTo("shop", "", open), "a unit that nothing was granted to may not read")
	assert.Empty(t, s.KnownTo("bank", "", open), "it was taken back")
	s.Owner.Unit = "7"
	assert.Equal(t, []secret.Known{{Unit: "7", Secret: conversation.Secret{ID: id, Label: "admin", Latest: 3, Own: true, Rotates: noon, Expires: noon.Add(time.Hour)}}}, s.KnownTo("db", "2", open), "the unit's own is its own affair")
	assert.Empty(t, secret.Secret{ID: id, Owner: s.Owner}.KnownTo("db", "7", open), "it has ended")
}
