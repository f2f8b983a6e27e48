package relation_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// What was granted for a relation can be read until its end was handled, by units that have not yet (RELATIONS.md
// P2).
func TestHeeds(t *testing.T) {
	web := func(number int) conversation.Unit { return conversation.Unit{Application: "web", Number: number} }
	tests := map[string]struct {
		why  string
		side relation.Side
		want bool
	}{
		"Lives":     {why: "it has not ended", want: true},
		"Owed":      {why: "web/0 has yet to answer", side: owing(conversation.Debt{Owed: []conversation.Unit{web(0)}}), want: true},
		"Others":    {why: "web/1 has, web/0 has answered", side: owing(conversation.Debt{Owed: []conversation.Unit{web(1)}})},
		"Handled":   {why: "it is over", side: owing(conversation.Debt{Handled: true})},
		"Inherited": {why: "web/0 may lead and handle it", side: owing(conversation.Debt{}), want: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, test.side.Heeds(web(0)), test.why)
		})
	}
}

func owing(d conversation.Debt) relation.Side {
	return relation.Side{Teardown: &relation.Teardown{Debt: d}}
}
