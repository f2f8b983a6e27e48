package relation_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// What was granted for a relation can be read until its end was handled, by units that have
// not yet, under the name that the secret's namespace gives it; nothing by who waits for an
// Offer (RELATIONS.md P2, M6).
func TestHeeds(t *testing.T) {
	key := relation.Key{
		Requirer: relation.End{Namespace: "shop", Application: "web", Endpoint: "store"},
		Provider: relation.End{Namespace: "shop", Application: "db", Endpoint: "main"},
	}
	abroad := key
	abroad.Provider.Namespace = "data"
	const ended = "Deleted"
	tests := map[string]struct {
		why       string
		r         relation.Relation
		namespace string
		unit      conversation.Unit
		want      bool
	}{
		"Lives":     {why: "it lives", r: relation.Relation{Key: key}, namespace: "shop", unit: conversation.Unit{Application: "web"}, want: true},
		"Ends":      {why: "web/0 has yet to hear of it", r: relation.Relation{Key: key, State: relation.State{EndReason: ended, Left: []string{"web/1"}}}, namespace: "shop", unit: conversation.Unit{Application: "web"}, want: true},
		"Handled":   {why: "it has", r: relation.Relation{Key: key, State: relation.State{EndReason: ended, Left: []string{"web/0"}}}, namespace: "shop", unit: conversation.Unit{Application: "web"}},
		"Stranger":  {why: "it is of neither end", r: relation.Relation{Key: key, State: relation.State{EndReason: ended}}, namespace: "shop", unit: conversation.Unit{Application: "thief"}},
		"Abroad":    {why: "in data it is called web.shop", r: relation.Relation{Key: abroad, State: relation.State{EndReason: ended, Offer: "all"}}, namespace: "data", unit: conversation.Unit{Application: "web.shop"}, want: true},
		"Left":      {why: "the Relation names it as its own namespace does", r: relation.Relation{Key: abroad, State: relation.State{EndReason: ended, Offer: "all", Left: []string{"web/0"}}}, namespace: "data", unit: conversation.Unit{Application: "web.shop"}},
		"Uncovered": {why: "the Offer was withdrawn before", r: relation.Relation{Key: abroad, Uncovered: true, State: relation.State{EndReason: ended, Offer: "all"}}, namespace: "data", unit: conversation.Unit{Application: "web.shop"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, test.r.Heeds(test.namespace, test.unit), test.why)
		})
	}
}
