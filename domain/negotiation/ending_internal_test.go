package negotiation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// A deleted relation stays until its sides hold the end, for agents to hear of it, and not for long (RELATIONS.md
// L1, L4, TRUST.md T2).
func TestTeardown(t *testing.T) {
	plain := application.Pod{Object: application.Object{Name: "web-0"}, Injected: true}
	side := relation.Side{Key: related(nil).Key, Role: application.Requirer, Relation: related(nil).UID, ID: 1, Known: true}
	told := side
	told.Teardown = &relation.Teardown{Since: at(), Reason: "Deleted"}
	earlier := side
	earlier.Relation = "another"
	tests := map[string]struct {
		why      string
		sides    []relation.Side
		unknown  bool // no side can be read
		pods     []application.Pod
		since    time.Duration // from the deletion to now
		ended    time.Duration // from the moment when the end was found to now
		ending   bool
		recorded int
		released bool
		wake     time.Duration
		waits    string
	}{
		"NoUnits":      {why: "nothing could handle the end", recorded: 1, released: true},
		"Agent":        {why: "an agent without handlers removes files", pods: []application.Pod{plain}, recorded: 1, wake: hearing, waits: "agents remove its files"},
		"AgentAtEdge":  {why: "it has had its time", pods: []application.Pod{plain}, ended: hearing, recorded: 1, released: true},
		"Away":         {why: "a controller that was away has told nobody", pods: []application.Pod{plain}, since: time.Hour, recorded: 1, wake: time.Hour + hearing, waits: "agents remove its files"},
		"Side":         {why: "its side takes note of the end", sides: []relation.Side{side}, recorded: 1},
		"SideLate":     {why: "however long that takes: else nobody would owe it", sides: []relation.Side{side}, since: 24 * time.Hour, recorded: 1},
		"Told":         {why: "its side owes the end from now on", sides: []relation.Side{told}, recorded: 1, released: true},
		"ToldAgent":    {why: "agents are another matter", sides: []relation.Side{told}, pods: []application.Pod{plain}, recorded: 1, wake: hearing},
		"Another":      {why: "the side is of an earlier relation", sides: []relation.Side{earlier}, recorded: 1, released: true},
		"Unknown":      {why: "T2: a side that cannot be read may have yet to take note", sides: []relation.Side{side}, unknown: true, since: 24 * time.Hour, recorded: 1},
		"UnknownOther": {why: "that of an earlier relation has no part in it", sides: []relation.Side{earlier}, unknown: true, recorded: 1, released: true},
		"UnknownEnd":   {why: "an ending namespace has no time", sides: []relation.Side{side}, unknown: true, ending: true, released: true},
		"NotRecorded":  {why: "its id must not be given again: a record holds it first", recorded: 0},
		"NamespaceEnd": {why: "an ending namespace has no time, and gives no ids", sides: []relation.Side{side}, ending: true, released: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := relation.Snapshot{Namespace: "shop", Now: at().Add(tc.since), Ending: tc.ending, LastRelation: tc.recorded, Sides: tc.sides}
			for _, one := range s.Sides {
				if tc.unknown {
					s.Unreadable, s.Sides = append(s.Unreadable, relation.Unreadable{Kind: relation.KindSide, Namespace: "shop", Name: one.Name(), Side: one}), nil
				}
			}
			if tc.pods != nil {
				s.Applications = []application.Application{{Name: "web", Pods: tc.pods}}
			}
			r := related(func(r *relation.Relation) { r.Deleted = at() })
			if tc.ended > 0 {
				r.State.EndedSince, r.State.EndReason = s.Now.Add(-tc.ended), "Deleted"
			}
			e := endings{number(index(s))}
			after, released, wake := e.teardown(r)
			assert.Equal(t, tc.released, released, tc.why)
			want := relation.EndDeleted
			if tc.ending {
				want = relation.EndNamespaceDeleted
			}
			assert.Equal(t, want, after.State.EndReason)
			if tc.wake == 0 {
				assert.Zero(t, wake, tc.why)
			} else {
				assert.Equal(t, at().Add(tc.wake), wake, tc.why)
			}
			assert.Contains(t, e.waits(after), tc.waits, tc.why)
		})
	}
	alive := related(nil)
	after, released, wake := endings{number(index(relation.Snapshot{Namespace: "shop", Now: at()}))}.teardown(alive)
	assert.Equal(t, alive, after, "a relation that is not deleted stays as it is")
	assert.False(t, released)
	assert.Zero(t, wake)
}
