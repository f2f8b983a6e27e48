package negotiation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// A deleted relation stays for its units to handle its end, and not for long (RELATIONS.md L1, L4).
func TestTeardown(t *testing.T) {
	handles := application.Unit{Number: 0, Pod: "web-0", Handles: true}
	plain := application.Pod{Object: application.Object{Name: "web-0"}, Injected: true}
	gone := application.Unit{Number: 0, Handles: true, Gone: application.GoneScaledDown}
	tests := map[string]struct {
		why      string
		units    []application.Unit
		pods     []application.Pod
		since    time.Duration
		change   func(*relation.Relation)
		ending   bool
		recorded int
		released bool
		wake     time.Duration
		waits    string
	}{
		"NoUnits":     {why: "nothing could handle the end", recorded: 1, released: true},
		"Agent":       {why: "an agent without handlers removes files", pods: []application.Pod{plain}, recorded: 1, wake: hearing, waits: "agents remove its files"},
		"AgentAtEdge": {why: "it has had its time", pods: []application.Pod{plain}, since: hearing, recorded: 1, released: true},
		"Handlers":    {why: "handlers have longer", units: []application.Unit{handles}, since: hearing, recorded: 1, wake: handling, waits: "it waits for handlers of web/0"},
		"AtEdge":      {why: "and not for ever", units: []application.Unit{handles}, since: handling, recorded: 1, released: true},
		"BeforeEdge":  {why: "up to then", units: []application.Unit{handles}, since: handling - time.Second, recorded: 1, wake: handling},
		"Handled": {
			why: "all handlers have handled it", units: []application.Unit{handles}, recorded: 1, released: true,
			change: func(r *relation.Relation) { r.State.Left = []string{"web/0"} },
		},
		"GoneUnit":     {why: "a unit that is gone handles nothing", units: []application.Unit{gone}, recorded: 1, released: true},
		"NotRecorded":  {why: "its id must not be given again: a record holds it first", recorded: 0},
		"NamespaceEnd": {why: "an ending namespace has no time, and gives no ids", units: []application.Unit{handles}, ending: true, released: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := relation.Snapshot{Namespace: "shop", Now: at().Add(tc.since), Ending: tc.ending, LastRelation: tc.recorded, Records: []relation.Record{recordOf("web", tc.units...)}}
			if tc.pods != nil {
				s.Applications = []application.Application{{Name: "web", Pods: tc.pods}}
			}
			r := related(func(r *relation.Relation) { r.Deleted = at() })
			if tc.change != nil {
				tc.change(&r)
			}
			e := endings{index(s)}
			after, released, wake := e.teardown(r)
			assert.Equal(t, tc.released, released, tc.why)
			assert.Equal(t, "Deleted", after.State.EndReason)
			if tc.wake == 0 {
				assert.Zero(t, wake, tc.why)
			} else {
				assert.Equal(t, at().Add(tc.wake), wake, tc.why)
			}
			assert.Contains(t, e.waits(r), tc.waits, tc.why)
		})
	}
	alive := related(nil)
	after, released, wake := endings{index(relation.Snapshot{Namespace: "shop", Now: at()})}.teardown(alive)
	assert.Equal(t, alive, after, "a relation that is not deleted stays as it is")
	assert.False(t, released)
	assert.Zero(t, wake)
}
