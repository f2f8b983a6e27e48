package conversation_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// After a reset a living relation that was over is created, and each secret that is read has changed, also at the
// revision that was told; of what goes on as it was told, nothing is told again (TRUST.md T6).
func TestReset(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	with := func(s conversation.Snapshot) conversation.Snapshot {
		s.Now, s.Secrets = now, []conversation.Secret{
			{ID: "a", Latest: 3, Kept: 3}, {ID: "b", Latest: 3, Kept: 2}, {ID: "latest", Latest: 1}, {ID: "own", Own: true, Latest: 2, Expires: now},
		}
		return s
	}
	before := with(sees(db("db/0"), life(related(2, "cache"), conversation.Alive, "")))
	m, _ := hear(t, conversation.Memory{}, before)
	over := life(related(2, "cache"), conversation.Ending, conversation.RelationRemoved)
	m, heard := hear(t, m, with(sees(db("db/0"), over)))
	assert.Contains(t, heard, "2 broken relation-removed final")

	m, heard = hear(t, m.Reset(before), before)
	assert.ElementsMatch(t, []string{"secret-changed", "secret-changed", "secret-expired", "2 created"}, heard)
	_, heard = hear(t, m, before)
	assert.Empty(t, heard, "once")
}

// Terms begin anew: a leader hears that it leads, whatever term it was told of.
func TestResetForgetsTerms(t *testing.T) {
	leads := leader(sees())
	m, _ := hear(t, conversation.Memory{}, leads)
	_, heard := hear(t, m.Reset(leads), leads)
	assert.Equal(t, []string{"elected"}, heard)
}

// A latest revision that is earlier than the announced one is announced, and so is each later one.
func TestRevisionsAreAnnouncedAgain(t *testing.T) {
	with := func(kept, latest int) conversation.Snapshot {
		s := sees()
		s.Secrets = []conversation.Secret{{ID: "a", Latest: latest, Kept: kept}}
		return s
	}
	var m conversation.Memory
	for _, c := range []struct {
		kept, latest int
		heard        []string
	}{
		{3, 5, []string{"secret-changed"}}, {3, 5, nil}, {3, 3, []string{"secret-changed"}}, {3, 3, nil},
		{3, 4, []string{"secret-changed"}}, {3, 5, []string{"secret-changed"}}, {5, 5, nil}, {5, 0, nil},
	} {
		s := with(c.kept, c.latest)
		var heard []string
		m, heard = hear(t, conversation.Withdraw(m, s), s)
		assert.Equal(t, c.heard, heard, "%+v", c)
	}
}

// Whatever a unit was told, and to whichever earlier state the store goes back: after a reset the unit hears as many
// events as it takes to be in each living relation, with each unit and bag as that state has it. That holds without one
// where revisions are higher afterwards and no relation is revived.
func TestAfterAResetTheEarlierStateIsTold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newStage()
		happenings(t, s)
		u := unit("web/0")
		earlier := s.snapshot(u)
		happenings(t, s)
		s.settle(t)
		m, _ := events(t, conversation.Memory{}, s.snapshot(u))
		revived := func(r conversation.Relation) bool {
			return r.Life != conversation.Ending && m.Relations[r.UID].Stage == conversation.Over
		}
		if slices.ContainsFunc(earlier.Relations, revived) || rapid.Bool().Draw(t, "the revisions are lower") {
			m = m.Reset(earlier)
		}
		m, _ = events(t, m.Observe(earlier), earlier)
		if earlier.Leaving != "" {
			return
		}
		for i := range earlier.Relations {
			r := &earlier.Relations[i]
			told := m.Relations[r.UID]
			if r.Life != conversation.Alive || r.Unseen {
				continue
			}
			assert.Equal(t, conversation.Open, told.Stage, "relation %s", r.UID)
			for _, member := range r.Units {
				assert.Equal(t, member.Bag.OrEmpty().Version, told.Members[member.Unit].Version, "bag of %s in %s", member.Unit, r.UID)
			}
		}
	})
}
