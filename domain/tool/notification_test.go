package tool_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/tool"
)

// RELATIONS.md E3, E10, E12, SAFETY.md E14: what happened is told alike to who
// reads JSON and to who reads variables.
func TestNotify(t *testing.T) {
	web, db := conversation.Unit{Application: "web", Number: 2}, conversation.Unit{Application: "db", Number: 10}
	of := func(kind conversation.Kind) conversation.Event {
		return conversation.Event{Kind: kind, Relation: "uid", ID: 7, Endpoint: "store", Application: "db"}
	}
	changed, joined, departed, broken := of(conversation.Changed), of(conversation.Joined), of(conversation.Departed), of(conversation.Broken)
	changed.Unit, changed.Difference = &db, conversation.Difference{Added: []string{"a"}, Changed: []string{"b", "c"}, Removed: []string{"d"}, Before: "v1", After: "v2"}
	joined.Joined = []conversation.Unit{db, {Application: "db", Number: 11}}
	departed.Unit, departed.Departing, departed.Reason = &db, &web, conversation.ScaledDown
	broken.Reason, broken.Final = conversation.RelationRemoved, true
	const relation = `"context":"","attempt":0,"model":"","unit":"web/2","endpoint":"store","relation":"store:7","remoteApplication":"db",`
	tests := map[string]struct {
		why   string
		event conversation.Event
		json  string
		env   map[string]string
	}{
		"Elected": {
			why: "of no relation", event: conversation.Event{Kind: conversation.Elected},
			json: `{"hook":"leader-elected","kind":"elected","context":"","attempt":0,"model":"","unit":"web/2"}`,
			env:  map[string]string{"JUJU_HOOK_NAME": "leader-elected"},
		},
		"Changed": {
			why: "E10", event: changed,
			json: `{"hook":"store-relation-changed","kind":"changed",` + relation + `"remoteUnit":"db/10","difference":{"added":["a"],"changed":["b","c"],"removed":["d"],"before":"v1","after":"v2"}}`,
			env:  map[string]string{"JUJU_REMOTE_UNIT": "db/10", "JUJU_REMOTE_APP": "db", "JUJU_RELATION_ID": "store:7", "JUJU_RELATION": "store"},
		},
		"Together": {
			why: "E12", event: joined,
			json: `{"hook":"store-relation-joined","kind":"joined",` + relation + `"joinedUnits":["db/10","db/11"]}`,
			env:  map[string]string{"ORCON_JOINED_UNITS": "db/10 db/11", "JUJU_HOOK_NAME": "store-relation-joined"},
		},
		"Departed": {
			why: "E3", event: departed,
			json: `{"hook":"store-relation-departed","kind":"departed",` + relation + `"remoteUnit":"db/10","departingUnit":"web/2","reason":"scaled-down"}`,
			env:  map[string]string{"JUJU_DEPARTING_UNIT": "web/2", "ORCON_REASON": "scaled-down"},
		},
		"Secret": {
			why: "of no relation", event: conversation.Event{Kind: conversation.SecretChanged, Secret: "9m4e", Label: "pw", Revision: 3},
			json: `{"hook":"secret-changed","kind":"secret-changed","context":"","attempt":0,"model":"","unit":"web/2","secret":"secret:9m4e","label":"pw","revision":3}`,
			env:  map[string]string{"JUJU_SECRET_ID": "secret:9m4e", "JUJU_SECRET_LABEL": "pw"},
		},
		"Broken": {
			why: "SAFETY.md E14", event: broken,
			json: `{"hook":"store-relation-broken","kind":"broken",` + relation + `"reason":"relation-removed","final":true}`,
			env:  map[string]string{"ORCON_FINAL": "true"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(tool.Notify(web, tc.event))
			require.NoError(t, err)
			assert.JSONEq(t, tc.json, string(text), tc.why)
			env := tool.Environment(web, tc.event)
			for variable, value := range tc.env {
				assert.Equal(t, value, env[variable], variable)
			}
			assert.Equal(t, "web/2", env["JUJU_UNIT_NAME"])
		})
	}
}

// A join of very many units still has an environment with which a process starts.
func TestManyJoinedUnits(t *testing.T) {
	e := conversation.Event{Kind: conversation.Joined, Endpoint: "store"}
	for i := range 10_000 {
		e.Joined = append(e.Joined, conversation.Unit{Application: "application", Number: i})
	}
	assert.NotContains(t, tool.Environment(conversation.Unit{}, e), "ORCON_JOINED_UNITS")
	assert.Len(t, tool.Notify(conversation.Unit{}, e).JoinedUnits, 10_000)
}
