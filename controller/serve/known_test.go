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

// Each unit is told of its own secrets and of nobody else's, and the leader of those
// that it must care for; what does not differ is not told again.
func TestTellingOfSecrets(t *testing.T) {
	due := time.Unix(100, 0).UTC()
	secrets := []secret.Secret{
		{ID: "read", Owner: secret.Owner{Application: "db"}, Latest: 2, Revisions: []secret.Revision{{Number: 1}, {Number: 2}},
			Readers: []secret.Reader{{Application: "blog", Unit: "4", Revision: 1, Label: "l"}, {Application: "blog", Unit: "none", Revision: 1}}},
		{ID: "owned", Owner: secret.Owner{Application: "blog"}, Latest: 1, Rotates: due, Revisions: []secret.Revision{{Number: 1}}},
	}
	tell := func(leader domain.Leader) *telling {
		told := &telling{}
		view := relation.View{Application: "blog", Leader: leader}
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
