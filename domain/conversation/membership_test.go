package conversation_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

func TestMembership(t *testing.T) {
	told := conversation.Memory{Relations: map[string]conversation.Told{
		"db":    {Stage: conversation.Open, Members: map[conversation.Unit]conversation.Seen{unit("pg/2"): {Version: "v"}, unit("pg/10"): {}}},
		"cache": {Stage: conversation.Open, Members: map[conversation.Unit]conversation.Seen{unit("redis/0"): {Version: "v"}}},
	}}
	db := conversation.Relation{UID: "db", Units: []conversation.Member{{Unit: unit("pg/11")}, {Unit: unit("pg/2")}}}
	cache := conversation.Relation{UID: "cache"}
	about := func(kind conversation.Kind, u string) conversation.Event {
		e := conversation.Event{Kind: kind, Relation: "db"}
		if u != "" {
			named := unit(u)
			e.Unit = &named
		}
		return e
	}
	tests := map[string]struct {
		why   string
		in    conversation.Membership
		of    conversation.Relation
		units []string
	}{
		"Outside":      {"a call of no handler sees who is in scope now", conversation.Membership{}, db, []string{"pg/2", "pg/11"}},
		"Created":      {"of whom no handler has heard, none is listed", conversation.MembershipIn(conversation.Memory{}, about(conversation.Created, "")), db, nil},
		"Joined":       {"the unit that joins, but not the next one", conversation.MembershipIn(conversation.Memory{}, about(conversation.Joined, "pg/2")), db, []string{"pg/2"}},
		"Changed":      {"a unit that has left since it joined is changed once more", conversation.MembershipIn(told, about(conversation.Changed, "pg/10")), db, []string{"pg/2", "pg/10"}},
		"Application":  {"an application's bag joins no unit", conversation.MembershipIn(told, about(conversation.Changed, "")), db, []string{"pg/2", "pg/10"}},
		"Departed":     {"the unit that departs, though it is in scope until all have heard", conversation.MembershipIn(told, about(conversation.Departed, "pg/2")), db, []string{"pg/10"}},
		"Inherited":    {"a leader may hear that a unit departs that it never met", conversation.MembershipIn(told, about(conversation.Departed, "pg/0")), db, []string{"pg/2", "pg/10"}},
		"Broken":       {"the end leaves none, whoever is in scope", conversation.MembershipIn(told, about(conversation.Broken, "")), db, nil},
		"OtherOfEvent": {"the event of one relation changes no other", conversation.MembershipIn(told, about(conversation.Broken, "")), cache, []string{"redis/0"}},
		"Secret":       {"an event of no relation", conversation.MembershipIn(told, conversation.Event{Kind: conversation.SecretChanged, Secret: "id"}), cache, []string{"redis/0"}},
		"Together": {"a whole first join (RELATIONS.md E12)",
			conversation.MembershipIn(conversation.Memory{}, conversation.Event{Kind: conversation.Joined, Relation: "db", Joined: []conversation.Unit{unit("pg/10"), unit("pg/2")}}), db, []string{"pg/2", "pg/10"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var units []string
			for _, u := range test.in.Units(test.of) {
				units = append(units, u.String())
			}
			assert.Equal(t, test.units, units, test.why)
		})
	}
	assert.Len(t, told.Relations["db"].Members, 2, "a memory is only looked at")
}

// members proves the membership in the handler of e: those whose joined the handlers
// have heard and whose departed they have not, this event's unit counted.
func (a *agent) members(t require.TestingT, e conversation.Event, after heard) {
	in := conversation.MembershipIn(a.memory, e)
	for _, r := range a.shown.Relations {
		want := slices.SortedFunc(maps.Keys(after.relations[r.UID].members), conversation.Unit.Compare)
		require.True(t, slices.Equal(want, in.Units(r)), "%v of %s: %v, not %v", e, r.UID, in.Units(r), want)
	}
}
