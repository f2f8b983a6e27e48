package conversation_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// A debt is over once every unit has answered and one has handled it; until then the leader inherits what no
// unit is left to handle (TRUST.md T2).
func TestDebt(t *testing.T) {
	d := conversation.Debt{Owed: []conversation.Unit{unit("db/0"), unit("db/2"), unit("db/3")}}
	assert.Equal(t, conversation.Owing{Owed: []int{0, 2, 3}}, d.Owing())
	first := d.Answered(unit("db/2"), true)
	assert.Equal(t, conversation.Owing{Owed: []int{0, 3}}, first.Owing(), "two have yet to answer")
	assert.Equal(t, conversation.Owing{Owed: []int{0, 2, 3}}, d.Owing(), "a debt is a value")
	first = first.Answered(unit("db/0"), false).Answered(unit("db/3"), false)
	assert.True(t, first.Over())
	assert.Equal(t, conversation.Owing{}, first.Owing())

	left := d.Answered(unit("db/0"), false).Without(func(u conversation.Unit) bool { return u != unit("db/0") })
	assert.False(t, left.Over())
	assert.Equal(t, conversation.Owing{Inherited: true}, left.Owing(), "none has handled it")
	assert.True(t, left.Answered(unit("db/7"), true).Over(), "the leader has")
}

// A unit answers for an end when it has nothing more to hear of it: at once if it was never told, after broken
// for good, and among peers when all have departed. It has handled the end for its application if it led
// (TRUST.md T2, RELATIONS.md E4).
func TestEnds(t *testing.T) {
	ending, ring := life(db("db/0"), conversation.Ending, ""), life(peers("web/1"), conversation.Ending, "")
	yes := []conversation.EndAnswer{{Relation: "uid-1", Handled: true}}
	no := []conversation.EndAnswer{{Relation: "uid-1"}}
	over := conversation.Told{Stage: conversation.Over}
	acted := conversation.Told{Stage: conversation.Over, Acted: true}
	tests := map[string]struct {
		why  string
		told conversation.Told
		sees conversation.Snapshot
		want []conversation.EndAnswer
	}{
		"Unknown":    {why: "it was never told", sees: sees(owedEnd(ending, 0, 1)), want: no},
		"Open":       {why: "it has yet to hear the end", told: conversation.Told{Stage: conversation.Open}, sees: sees(owedEnd(ending, 0))},
		"Suspended":  {why: "it has yet to hear that the end is final", told: conversation.Told{Stage: conversation.Closed}, sees: sees(owedEnd(ending, 0))},
		"Follower":   {why: "it did not lead", told: over, sees: leader(sees(owedEnd(ending, 0))), want: no},
		"Leader":     {why: "it led then, and need not lead now", told: acted, sees: sees(owedEnd(ending, 0)), want: yes},
		"NotAsked":   {why: "it has answered, or came later", told: acted, sees: leader(sees(owedEnd(ending, 1)))},
		"Alive":      {why: "nothing has ended", sees: sees(owedEnd(db("db/0"), 0))},
		"Inherits":   {why: "the leader has yet to handle it", told: over, sees: leader(sees(owedEnd(ending)))},
		"Inherited":  {why: "the leader has handled it", told: acted, sees: leader(sees(owedEnd(ending))), want: yes},
		"Resigned":   {why: "only the leader inherits", told: acted, sees: sees(owedEnd(ending))},
		"Nobody":     {why: "an end that is owed to nobody needs no answer", told: acted, sees: leader(sees(ending))},
		"PeersThere": {why: "its peers have yet to depart", told: conversation.Told{Stage: conversation.Open, Members: map[conversation.Unit]conversation.Seen{unit("web/1"): {}}}, sees: sees(owedEnd(ring, 0))},
		"PeersGone":  {why: "there is no broken", told: conversation.Told{Stage: conversation.Open}, sees: sees(owedEnd(ring, 0)), want: []conversation.EndAnswer{{Relation: "uid-9"}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := conversation.Memory{Relations: map[string]conversation.Told{test.sees.Relations[0].UID: test.told}}
			assert.Equal(t, test.want, m.Ends(test.sees), test.why)
		})
	}
}

// An end is heard once more by the leader that inherits it (TRUST.md T2).
func TestNextInheritedEnd(t *testing.T) {
	suspended := life(db(), conversation.Suspended, conversation.SuspendedReason)
	ending := life(db("db/0"), conversation.Ending, conversation.ApplicationRemoved)
	outlived := gone(gone(ending, "db/2", conversation.ScaledDown), "db/0", conversation.ApplicationRemoved)
	tests := map[string]struct {
		why   string
		looks []look
	}{
		"Unknown": {
			why: "TRUST.md T2: the leader hears an end that is left to it, once, also if it never knew the relation",
			looks: []look{
				{sees(owedEnd(ending)), nil},
				{leader(sees(owedEnd(ending))), []string{"elected", "1 broken application-removed final"}},
				{leader(sees(owedEnd(ending))), nil},
				{term(sees(owedEnd(ending)), 2), []string{"elected"}},
			},
		},
		"Follower": {
			why: "TRUST.md T2: who heard the end while another led has not handled it for its application",
			looks: []look{
				{sees(db()), []string{"1 created"}},
				{sees(owedEnd(ending, 0)), []string{"1 broken application-removed final"}},
				{leader(sees(owedEnd(ending, 0))), []string{"elected"}},
				{leader(sees(owedEnd(ending))), []string{"1 broken application-removed final"}},
				{leader(sees(owedEnd(ending))), nil},
			},
		},
		"Handled": {
			why: "TRUST.md T2: who heard the end while it led has handled it, whoever led meanwhile",
			looks: []look{
				{leader(sees(db())), []string{"elected", "1 created"}},
				{leader(sees(owedEnd(ending, 0))), []string{"1 broken application-removed final"}},
				{sees(owedEnd(ending)), nil},
				{leader(sees(owedEnd(ending))), []string{"elected"}},
			},
		},
		"Forgotten": {
			why: "TRUST.md T2: at least once, for what is over and not mentioned is forgotten",
			looks: []look{
				{leader(sees(owedEnd(ending))), []string{"elected", "1 broken application-removed final"}},
				{leader(sees()), nil},
				{leader(sees(owedEnd(ending))), []string{"1 broken application-removed final"}},
			},
		},
		"Suspended": {
			why: "SAFETY.md E14: once, also if the relation was broken before",
			looks: []look{
				{leader(sees(db())), []string{"elected", "1 created"}},
				{leader(sees(suspended)), []string{"1 broken suspended"}},
				{leader(sees(owedEnd(ending))), []string{"1 broken application-removed final"}},
				{leader(sees(owedEnd(ending))), nil},
			},
		},
		"UnitsUnknown": {
			why: "TRUST.md T2, RELATIONS.md E4: before broken, the units that were there depart, once",
			looks: []look{
				{leader(sees(owedEnd(outlived))), []string{"elected", "1 departed db/0 application-removed", "1 departed db/2 scaled-down", "1 broken application-removed final"}},
				{leader(sees(owedEnd(outlived))), nil},
			},
		},
		"UnitsKnown": {
			why: "TRUST.md T2: who knew the relation has heard who departed, and hears the end alone",
			looks: []look{
				{sees(db("db/0")), []string{"1 created", "1 joined db/0", "1 changed db/0"}},
				{sees(owedEnd(outlived, 0)), []string{"1 departed db/0 application-removed", "1 broken application-removed final"}},
				{leader(sees(owedEnd(outlived))), []string{"elected", "1 broken application-removed final"}},
			},
		},
		"NotInherited": {
			why: "TRUST.md T2: who leaves inherits nothing, nor is there an end that is not final, or one among peers",
			looks: []look{
				{leaving(leader(sees(owedEnd(ending))), conversation.ScaledDown), nil},
				{leader(sees(owedEnd(notFinal(ending)))), []string{"elected"}},
				{leader(sees(owedEnd(life(peers(), conversation.Ending, "")))), nil},
				{leader(sees(owedEnd(db()))), []string{"1 created"}},
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { told(t, test.why, test.looks) })
	}
}

// An end that is left to the leader is told again after a lost memory and not after a restart: at least once
// (TRUST.md T2).
func TestInheritedEndIsToldAtLeastOnce(t *testing.T) {
	ended := leader(sees(owedEnd(life(db("db/0"), conversation.Ending, ""))))
	want := []string{"elected", "1 broken relation-removed final"}
	m, got := hear(t, conversation.Memory{}, ended)
	assert.Equal(t, want, got)
	text, err := json.Marshal(m)
	require.NoError(t, err)
	restarted, err := conversation.ParseMemory(text)
	require.NoError(t, err)
	restarted, got = hear(t, restarted, ended)
	assert.Empty(t, got, "it remembers")
	assert.Equal(t, []conversation.EndAnswer{{Relation: "uid-1", Handled: true}}, restarted.Ends(ended))
	_, got = hear(t, conversation.Memory{}, ended)
	assert.Equal(t, want, got, "its memory is lost")
}
