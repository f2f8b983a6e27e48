package agent

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// An end that is known from the provider's namespace alone comes without the relation's id here. An agent that knows the
// relation removes its files, and any other none (TRUST.md T4).
func TestEndsFromAnotherNamespace(t *testing.T) {
	end := func(id int) conversation.Relation {
		return conversation.Relation{
			UID: db(id, "").UID, Endpoint: "db", Life: conversation.Ending, EndReason: conversation.RelationRemoved, Final: true,
		}
	}
	assert.Equal(t, []string{"db-7", "db"}, after(heard(db(7, "h")), heard(), heard(end(7))).Plan().Remove)
	assert.Empty(t, after(heard(end(7))).Plan().Remove)
	assert.Equal(t, []string{"db-7"}, after(heard(db(7, "h"), db(8, "i")), heard(end(7), db(8, "i"))).Plan().Remove)
}
