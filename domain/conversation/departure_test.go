package conversation_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// How long a departure is owed to an application (SAFETY.md E15).
func TestDepartureIsOwed(t *testing.T) {
	left := unit("db/0")
	handled := conversation.Answer{Unit: left, Since: epoch(), Handled: true}
	unknown := conversation.Answer{Unit: left, Since: epoch()}
	earlier := conversation.Answer{Unit: left, Since: epoch().Add(-time.Hour), Handled: true}
	tests := map[string]struct {
		why             string
		owed            []string
		answers         map[string]conversation.Answer
		gone            []string
		over, inherited bool
	}{
		"Known":     {why: "one that knew it has not handled it", owed: []string{"web/0", "web/1"}, answers: map[string]conversation.Answer{"web/1": handled}},
		"Handled":   {why: "all have", owed: []string{"web/0", "web/1"}, answers: map[string]conversation.Answer{"web/0": handled, "web/1": unknown}, over: true},
		"Left":      {why: "the others have gone", owed: []string{"web/0", "web/1"}, answers: map[string]conversation.Answer{"web/0": handled}, gone: []string{"web/1"}, over: true},
		"Strangers": {why: "nobody knew it", owed: []string{"web/5"}, answers: map[string]conversation.Answer{"web/5": unknown}, inherited: true},
		"Gone":      {why: "all that knew it have gone", owed: []string{"web/0"}, gone: []string{"web/0"}, inherited: true},
		"Nobody":    {why: "no unit was there: it waits for a leader", inherited: true},
		"Inherited": {why: "the leader has handled it", answers: map[string]conversation.Answer{"web/7": handled}, over: true},
		"Earlier":   {why: "the answer is about an earlier departure", owed: []string{"web/0"}, answers: map[string]conversation.Answer{"web/0": earlier}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := conversation.Departure{Unit: left, Since: epoch()}
			for _, u := range test.owed {
				d.Owed = append(d.Owed, unit(u))
			}
			for u, answer := range test.answers {
				d = d.Answered(unit(u), answer)
			}
			d = d.Without(func(u conversation.Unit) bool { return slices.Contains(test.gone, u.String()) })
			assert.Equal(t, test.over, d.Over(), test.why)
			assert.Equal(t, test.inherited, d.Inherited(), test.why)
		})
	}
}

// While a unit leaves it hears of departures that are its own: of those of others it says
// nothing, so that one who stays handles them (SAFETY.md E15).
func TestAnswersOfOneThatLeaves(t *testing.T) {
	r := gone(db(), "db/0", conversation.Replaced)
	r.Departed[0].Owed, r.Departed[0].Since = []int{0}, epoch()
	s := leaving(sees(r), conversation.ScaledDown)
	m := conversation.Memory{Relations: map[string]conversation.Told{r.UID: {Stage: conversation.Open, Members: map[conversation.Unit]conversation.Seen{unit("db/0"): {Version: "v"}}}}}
	e, owed := conversation.Next(m, s)
	require.True(t, owed)
	require.Equal(t, "1 departed db/0 scaled-down departing=web/0", line(e))
	assert.Empty(t, m.Answers(s), "it has not heard of it")
	assert.Equal(t, []conversation.Answer{{Unit: unit("db/0"), Since: epoch()}}, m.After(e, s).Answers(s)[r.UID], "it never handled that")
}

// What a unit has to say of a departure: nothing before its handlers have handled
// it, unless they never knew who departed (SAFETY.md E15).
func TestAnswers(t *testing.T) {
	left := unit("db/0")
	tests := map[string]struct {
		why       string
		told      conversation.Told
		tombstone conversation.Tombstone
		leader    bool
		want      []conversation.Answer
	}{
		"Knows":     {why: "it is still to be handled", told: conversation.Told{Members: map[conversation.Unit]conversation.Seen{left: {}}}, tombstone: conversation.Tombstone{Owing: conversation.Owing{Owed: []int{0}}}},
		"Handled":   {why: "it was", told: conversation.Told{Departed: []conversation.Unit{left}}, tombstone: conversation.Tombstone{Owing: conversation.Owing{Owed: []int{0}}}, want: []conversation.Answer{{Handled: true}}},
		"Unknown":   {why: "it never joined", tombstone: conversation.Tombstone{Owing: conversation.Owing{Owed: []int{0}}}, want: []conversation.Answer{{}}},
		"NotAsked":  {why: "it has answered, or came later", told: conversation.Told{Departed: []conversation.Unit{left}}},
		"Inherited": {why: "the leader has handled what nobody else could", told: conversation.Told{Departed: []conversation.Unit{left}}, tombstone: conversation.Tombstone{Owing: conversation.Owing{Inherited: true}}, leader: true, want: []conversation.Answer{{Handled: true}}},
		"Inherits":  {why: "the leader has yet to", tombstone: conversation.Tombstone{Owing: conversation.Owing{Inherited: true}}, leader: true},
		"Follower":  {why: "only the leader inherits", told: conversation.Told{Departed: []conversation.Unit{left}}, tombstone: conversation.Tombstone{Owing: conversation.Owing{Inherited: true}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.tombstone.Unit, test.tombstone.Since = left, epoch()
			m := conversation.Memory{Relations: map[string]conversation.Told{"one": test.told}}
			s := conversation.Snapshot{Leader: test.leader, Relations: []conversation.Relation{{UID: "one", Departed: []conversation.Tombstone{test.tombstone}}}}
			for i := range test.want {
				test.want[i].Unit, test.want[i].Since = left, epoch()
			}
			assert.Equal(t, test.want, m.Answers(s)["one"], test.why)
		})
	}
}
