package negotiation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// owing is a world in which web/1 has departed hours ago, and db/0 has yet to handle it.
func owing(t *testing.T) *world {
	t.Helper()
	w := newWorld()
	w.scene()
	w.settle(t)
	w.later(t, time.Minute)
	delete(w.pods, "web-1")
	w.settle(t)
	w.later(t, 3*time.Hour)
	require.Equal(t, map[string][]conversation.Unit{"web/1": {{Application: "db"}}}, w.departures(t))
	return w
}

// scene has web require what db provides, both with handlers.
func (w *world) scene() {
	w.deployment("db", map[string]string{application.KeyProvides: "main:pg", "data.tengu.io/main": "host: db"})
	w.consumes("web", "store:pg", "db")
	w.handling(application.Deployment, "web", "web-0")
	w.handling(application.Deployment, "web", "web-1")
	w.handling(application.Deployment, "db", "db-0")
}

// restoredRecords returns the records of a world as objects that are made now, without status.
func restoredRecords(from, w *world) map[string]relation.Record {
	all := map[string]relation.Record{}
	for name, r := range from.records {
		kept := relation.ApplicationState{Units: r.State.Units, NextUnit: r.State.NextUnit, Vacant: r.State.Vacant}
		all[name] = relation.Record{Name: name, UID: w.uid(), Made: w.now, State: kept}
	}
	return all
}

// restoredRelations does the same for relations.
func restoredRelations(from, w *world) map[string]kept {
	all := map[string]kept{}
	for name, r := range from.relations {
		is := withoutStatus(r.Relation)
		is.Object, is.Created = "object-"+w.uid(), w.now
		all[name] = kept{is, true}
	}
	return all
}

// The definitions were deleted, and all objects are made again from a backup, without status. What was owed of departures is
// owed again, to the units that are there (SAFETY.md E15, TRUST.md T5).
func TestOwedDeparturesAreRestored(t *testing.T) {
	w := owing(t)
	w.now = w.now.Add(time.Hour)
	w.records, w.relations = restoredRecords(w, w), restoredRelations(w, w)
	w.settle(t)
	db := conversation.Unit{Application: "db"}
	require.Equal(t, map[string][]conversation.Unit{"web/1": {db}}, w.departures(t))
	w.answers(t, db, true)
	w.settle(t)
	w.later(t, 2*time.Hour)
	assert.Empty(t, w.departures(t))
	assert.Len(t, w.records["web"].State.Units, 1)
}

// A namespace is restored into another cluster, where the controller runs: records first, then the relation, and last what
// makes pods. All units have departed then, and the handlers that come are owed that (SAFETY.md E15, TRUST.md T5).
func TestOwedDeparturesAreRestoredInParts(t *testing.T) {
	before := owing(t)
	w := newWorld()
	w.now = before.now.Add(time.Hour)
	w.lastRelation, w.sides = before.lastRelation, before.sides
	w.records = restoredRecords(before, w)
	w.settle(t)
	w.later(t, 30*time.Minute)
	w.relations = restoredRelations(before, w)
	w.settle(t)
	w.later(t, time.Minute)
	w.scene()
	w.settle(t)
	w.later(t, 3*time.Hour)
	require.Equal(t, map[string][]conversation.Unit{"db/0": nil, "web/0": nil, "web/1": nil}, w.departures(t))
	for _, d := range w.only(t).State.Departures {
		assert.True(t, d.Inherited(), "%s", d.Unit)
	}
}

// A relation that is made is owed nothing of units that had departed before, also if the controller is killed before it
// stores the status.
func TestNewRelationsAreOwedNoEarlierDepartures(t *testing.T) {
	w := newWorld()
	w.scene()
	web := w.workloads["Deployment/web"]
	w.consumes("web", "store:pg", "")
	w.settle(t)
	delete(w.pods, "web-1")
	w.settle(t)
	w.now = w.now.Add(time.Minute)
	w.workloads["Deployment/web"] = web
	decisions, _ := w.negotiate(t)
	for _, d := range decisions {
		writes := all
		relate, is := d.(relation.Relate)
		if is {
			writes = 1
		}
		w.run([]relation.Decision{d}, writes)
		if is {
			require.Empty(t, w.relations[relate.Name()].State.Status)
			break // killed
		}
	}
	w.now = w.now.Add(time.Minute)
	w.settle(t)
	require.NotEmpty(t, w.records["web"].State.Units[1].Gone)
	assert.Empty(t, w.departures(t))
}
