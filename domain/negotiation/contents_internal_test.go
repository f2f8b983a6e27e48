package negotiation

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// The other side of a relation sees what is declared, over it what the leader wrote, and above all the reference to a
// granted Secret (SAFETY.md V5, S1).
func TestContents(t *testing.T) {
	provider := related(nil).Provider
	declared := []application.Application{{
		Name: "db", Endpoints: []application.Endpoint{{Name: "main", Role: application.Provider}},
		Bags: map[string]map[string]string{"main": {"host": "new"}},
	}}
	last := relation.Databag{Application: "db", Endpoint: "main", Data: map[string]string{"host": "last"}}
	said := relation.Databag{Application: "db", Endpoint: "main", Relation: "uid-1", Data: map[string]string{"host": "said", "user": "web"}}
	grant := relation.Grant{Endpoint: "main", Key: "user", Secret: "s", Revision: 1}
	tests := map[string]struct {
		why    string
		apps   []application.Application
		bags   []relation.Databag
		grant  *relation.Grant
		abroad bool
		want   map[string]string
	}{
		"Declared": {why: "what its objects declare now", apps: declared, bags: []relation.Databag{last}, want: map[string]string{"host": "new"}},
		"Last":     {why: "L5: nothing declares it any more", bags: []relation.Databag{last}, want: map[string]string{"host": "last"}},
		"Said":     {why: "its leader's word counts more", apps: declared, bags: []relation.Databag{said}, want: map[string]string{"host": "said", "user": "web"}},
		"Granted":  {why: "a Secret counts most", apps: declared, bags: []relation.Databag{said}, grant: &grant, want: map[string]string{"host": "said", "user": grant.Layer(provider)["user"]}},
		"NoOffer":  {why: "nothing of another namespace is seen without an Offer", bags: []relation.Databag{last}, abroad: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := related(nil)
			if tc.abroad {
				r.Provider.Namespace = "office"
			}
			c := contents{index(relation.Snapshot{Namespace: "shop", Now: at(), Applications: tc.apps, Databags: tc.bags}), grants{}}
			if tc.grant != nil {
				c.byEnd = map[relation.End]relation.Grant{r.Provider: *tc.grant}
			}
			assert.Equal(t, tc.want, c.in(r, r.Provider), tc.why)
		})
	}
}
