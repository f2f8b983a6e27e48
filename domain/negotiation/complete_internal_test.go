package negotiation

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
)

// A relation is complete when its requirer has what it needs, and says else what is missing and who can provide it
// (SAFETY.md V5, S1).
func TestCompleteness(t *testing.T) {
	provider := related(nil).Provider
	bag := func(data map[string]string) []relation.Databag {
		return []relation.Databag{{Application: "db", Endpoint: "main", Data: data}}
	}
	said := relation.Databag{Application: "db", Endpoint: "main", Relation: "uid-1", Data: map[string]string{"user": "web"}}
	tests := map[string]struct {
		why    string
		bags   []relation.Databag
		grants map[relation.End]relation.Grant
		status status.Info
		ready  bool
		reason string
		text   string
	}{
		"Nothing":  {why: "without an interface anything counts", reason: relation.ReasonNoData, text: "annotate db with data.tengu.io/main"},
		"Data":     {why: "there is something", bags: bag(map[string]string{"host": "db"}), ready: true, reason: relation.ReasonComplete, text: "web:store has the data that it needs from db:main"},
		"Said":     {why: "what a leader wrote counts", bags: []relation.Databag{said}, ready: true, reason: relation.ReasonComplete},
		"Granted":  {why: "the reference to a granted Secret counts", grants: map[relation.End]relation.Grant{provider: {Endpoint: "main", Key: "login", Secret: "s", Revision: 1}}, ready: true, reason: relation.ReasonComplete},
		"Refused":  {why: "the Secret is not granted yet", bags: bag(map[string]string{"host": "db"}), grants: map[relation.End]relation.Grant{provider: {Endpoint: "main", Key: "login", Secret: "s", Refused: true}}, reason: relation.ReasonMissing, text: "has not provided login yet"},
		"ItsState": {why: "the provider says why", status: status.Info{State: status.Maintenance, Message: "installs"}, reason: relation.ReasonNoData, text: "its status: installs"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			f := index(relation.Snapshot{
				Namespace: "shop", Now: at(), Databags: tc.bags, Applications: []application.Application{{Name: "db"}, {Name: "web"}},
			})
			r := related(func(r *relation.Relation) { r.State.ProviderStatus = tc.status })
			cs := completeness(contents{f, grants{byEnd: tc.grants}}, r)
			ready, found := condition.Find(cs, condition.Ready)
			require.True(t, found)
			assert.Equal(t, tc.ready, ready.True, tc.why)
			assert.Equal(t, tc.reason, ready.Reason, tc.why)
			assert.Contains(t, ready.Message, tc.text, tc.why)
		})
	}
}
