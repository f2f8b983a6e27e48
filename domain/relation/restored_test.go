package relation_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// A relation across namespaces is restored without its status, while its agents live: as long as an Offer covers it, it is
// not suspended for them before a controller has written which Offer it is (TRUST.md T5).
func TestRestoredRelationIsNotSuspended(t *testing.T) {
	now := func(name string) string { return map[string]string{"shop": "shop-1", "bank": "bank-1"}[name] }
	covers := []relation.Offer{{
		Namespace: "bank", Name: "all", Application: "vault", Endpoint: "main", Consumers: []relation.Namespace{{Name: "shop", UID: "shop-1"}},
	}}
	tests := map[string]struct {
		why, provider string
		status        relation.Status
		offers        []relation.Offer
		life          conversation.Life
	}{
		"Restored":     {why: "it was open, and is covered", provider: "bank-1", offers: covers, life: conversation.Alive},
		"Withdrawn":    {why: "nothing covers it", provider: "bank-1", life: conversation.Suspended},
		"OtherCluster": {why: "its provider's namespace is another one", provider: "bank-0", offers: covers, life: conversation.Suspended},
		"Looked": {
			why: "a controller has looked at it", provider: "bank-1", status: relation.Joining, offers: covers, life: conversation.Suspended,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := relation.Relation{UID: "r", Key: relation.Key{
				Requirer: relation.End{Namespace: "shop", Application: "web", Endpoint: "store"},
				Provider: relation.End{Namespace: "bank", Application: "vault", Endpoint: "main"},
			}, State: relation.State{ID: 1, ProviderUID: test.provider, Status: test.status}}
			side := relation.Side{Key: r.Key, Role: application.Requirer, Relation: "r", ID: 1, Known: true}
			r = r.Under(test.offers, now)
			v := relation.Look("shop", relation.Record{Name: "web"}, []relation.Relation{r}, []relation.Side{side}, relation.Shelf{
				Bag:    func(relation.Relation, relation.End) map[string]string { return nil },
				Writer: func(relation.Relation, relation.End) string { return "" },
				Said:   func(relation.Relation, relation.End, int) map[string]string { return nil },
				Units:  func(relation.End) []application.Unit { return nil },
				Grants: func(relation.End) []relation.Grant { return nil },
			})
			assert.Equal(t, test.life, v.Relations[0].Shown.Life, test.why)
		})
	}
}
