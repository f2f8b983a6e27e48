package negotiation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// A departure stays owed however long the application at the other end has no unit: the leader that comes inherits it
// (SAFETY.md E15, TRUST.md T2).
func TestDeparturesOutliveTheirHearers(t *testing.T) {
	w := newWorld()
	w.deployment("db", map[string]string{application.KeyProvides: "main:pg", "data.tengu.io/main": "host: db"})
	w.consumes("web", "store:pg", "db")
	for _, name := range []string{"web-0", "web-1"} {
		w.pod(application.Deployment, "web", name)
		p := w.pods[name]
		p.Address = "10.0.1.1"
		w.pods[name] = p
	}
	w.handling(application.Deployment, "db", "db-0")
	w.settle(t)
	db := func(n int) conversation.Unit { return conversation.Unit{Application: "db", Number: n} }
	delete(w.pods, "web-1")
	w.settle(t)
	require.Equal(t, map[string][]conversation.Unit{"web/1": {db(0)}}, w.departures(t))

	t.Log("nobody is there, for longer than a unit is remembered")
	delete(w.pods, "db-0")
	w.settle(t)
	w.later(t, 3*time.Hour)
	w.later(t, 3*time.Hour)
	w.handling(application.Deployment, "db", "db-1")
	w.settle(t)
	require.Contains(t, w.departures(t), "web/1", "db/0 let web/1 in, and nobody has shut it out")
	assert.True(t, w.only(t).State.Departures[0].Inherited())
	w.answers(t, db(1), false)
	w.settle(t)
	assert.True(t, w.only(t).State.Departures[0].Inherited(), "a unit that has handled nothing pays nothing")
	w.answers(t, db(1), true)
	w.settle(t)
	w.later(t, 2*time.Hour)
	assert.Empty(t, w.departures(t))
}

// A departure is owed also if it comes when the application at the other end has had no unit for so long that its units
// are forgotten (SAFETY.md E15). What came after those had gone was known to no unit.
func TestDeparturesFromAVacantEnd(t *testing.T) {
	w := newWorld()
	w.deployment("db", map[string]string{application.KeyProvides: "main:pg", "data.tengu.io/main": "host: db"})
	w.consumes("web", "store:pg", "db")
	w.handling(application.Deployment, "db", "db-0")
	w.pod(application.Deployment, "web", "web-0")
	w.address("web-0", "10.0.1.1")
	w.settle(t)

	delete(w.pods, "db-0")
	w.settle(t)
	w.later(t, 3*time.Hour)
	w.later(t, 3*time.Hour)
	w.pod(application.Deployment, "web", "web-1")
	w.address("web-1", "10.0.1.2")
	w.settle(t)
	delete(w.pods, "web-0")
	delete(w.pods, "web-1")
	w.settle(t)
	require.Contains(t, w.departures(t), "web/0", "db/0 let web/0 in, and no unit has shut it out")
	assert.True(t, w.only(t).State.Departures[0].Inherited())
	assert.NotContains(t, w.departures(t), "web/1", "no unit of db ever knew it")

	w.handling(application.Deployment, "db", "db-1")
	w.settle(t)
	w.later(t, 3*time.Hour)
	require.Contains(t, w.departures(t), "web/0")
	w.answers(t, conversation.Unit{Application: "db", Number: 1}, true)
	w.settle(t)
	w.later(t, 2*time.Hour)
	assert.Empty(t, w.departures(t))
}
