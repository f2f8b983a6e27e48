package serve

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	v1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// ofDB is a secret of db that blog/4 keeps to an old revision of.
func ofDB() secret.Secret {
	return secret.Secret{
		ID: "read", Owner: secret.Owner{Application: "db"}, Latest: 2, Revisions: []secret.Revision{{Number: 1}, {Number: 2}},
		Access:  []secret.Access{{Relation: "r-1", Application: "blog"}},
		Readers: []secret.Reader{{Application: "blog", Unit: "4", Revision: 1, Label: "l"}, {Application: "blog", Unit: "none", Revision: 1}},
	}
}

// Each unit is told of its own secrets and of nobody else's, and the leader of those
// that it must care for; what does not differ is not told again.
func TestTellingOfSecrets(t *testing.T) {
	due := time.Unix(100, 0).UTC()
	secrets := []secret.Secret{ofDB(), {ID: "owned", Owner: secret.Owner{Application: "blog"}, Latest: 1, Rotates: due, Revisions: []secret.Revision{{Number: 1}}}}
	tell := func(leader domain.Leader) *telling {
		told := &telling{}
		view := blog("one")
		view.Leader = leader
		told.take(view)
		told.takeSecrets(view, secrets)
		return told
	}
	led := tell(domain.Leader{Unit: 5, Term: 2})
	assert.Equal(t, []*v1alpha1.KnownSecret{{Id: "read", Label: "l", Latest: 2, Kept: 1}}, led.content.secrets[4])
	assert.Equal(t, []*v1alpha1.KnownSecret{{Id: "owned", Latest: 1, Rotates: 100}}, led.content.secrets[5])
	assert.Len(t, tell(domain.Leader{}).content.secrets, 1, "nobody leads")
	assert.True(t, led.content.same(tell(domain.Leader{Unit: 5, Term: 2}).content))
	assert.False(t, led.content.same(tell(domain.Leader{}).content))
}

// A unit is not told of a secret that its relations let it read no more: its handler
// could only fail, and it would never hear that the relation is broken.
func TestTellingOfSecretsOfOpenRelations(t *testing.T) {
	tests := map[string]struct {
		why    string
		change func(*relation.Seen)
		told   int
	}{
		"Open":      {why: "it may read", change: func(*relation.Seen) {}, told: 1},
		"Ended":     {why: "its handlers are still to hear of the end", change: func(r *relation.Seen) { r.State.EndReason = "Deleted" }},
		"Deleted":   {why: "the same", change: func(r *relation.Seen) { r.Deleted = time.Unix(1, 0) }},
		"Suspended": {why: "until the Offer returns", change: func(r *relation.Seen) { r.Provider.Namespace, r.State.SuspendedSince = "bank", time.Unix(1, 0) }},
		"Another":   {why: "the grant was of an older one of the same two", change: func(r *relation.Seen) { r.UID = "r-2" }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			view, told := blog("one"), &telling{}
			test.change(&view.Relations[0])
			told.take(view)
			told.takeSecrets(view, []secret.Secret{ofDB()})
			assert.Len(t, told.content.secrets[4], test.told, test.why)
		})
	}
}
