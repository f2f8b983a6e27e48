package negotiation_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// say puts the bag of one relation, as a commit does.
func (w *world) say(r relation.Relation, app, unit string, data map[string]string) string {
	b := relation.Databag{Application: app, Endpoint: "main", Relation: r.UID, Unit: unit, Data: data}
	w.databags[b.Name()] = bag{b, true}
	return b.Name()
}

// A leader's writes lie over what needs no code, and complete a relation that
// waited for them (SAFETY.md V5).
func TestLeadersWritesComplete(t *testing.T) {
	w := newWorld()
	w.deployment("db", map[string]string{application.KeyProvides: "main:pg"})
	w.consumes("web", "store:pg", "db")
	w.settle(t)
	assert.Equal(t, relation.ReasonNoData, ready(w.only(t)).Reason)
	w.say(w.only(t), "db", "", map[string]string{"password": "secret:x"})
	w.settle(t)
	assert.True(t, ready(w.only(t)).True)
	w.say(w.only(t), "db", "", map[string]string{"password": ""})
	w.settle(t)
	assert.Equal(t, relation.ReasonNoData, ready(w.only(t)).Reason, "RELATIONS.md P3: an empty value is no data")
}

// The bag of a unit goes an hour after the unit, where nobody is owed its departure,
// or when more have gone than are remembered; and not when it is merely not known
// here (SAFETY.md E13, P2).
func TestBagsOfForgottenUnits(t *testing.T) {
	w := newWorld()
	w.external("db", "main:pg")
	w.consumes("web", "store:pg", "db")
	w.pod(application.Deployment, "web", "web-0")
	w.settle(t)
	known, unknown := w.say(w.only(t), "web", "0", map[string]string{"a": "b"}), w.say(w.only(t), "web", "99", map[string]string{"a": "b"})
	gone := w.say(w.only(t), "web", "1", nil)
	for n := range 70 {
		delete(w.pods, "web-0")
		w.pod(application.Deployment, "web", "web-0")
		w.now = w.now.Add(time.Second)
		w.settle(t)
		_, there := w.databags[known]
		assert.Equal(t, n < 64, there, "as long as it is one of the last 64 that have left: %d", n)
	}
	assert.NotContains(t, w.databags, gone)
	last := w.say(w.only(t), "web", "69", map[string]string{"a": "b"})
	w.later(t, 59*time.Minute)
	assert.Contains(t, w.databags, last)
	w.later(t, 2*time.Minute)
	assert.NotContains(t, w.databags, last)
	assert.Contains(t, w.databags, unknown, "a number that was never given here")
}

// The units of a namespace that opts out for a while are those that they were,
// however many: nobody looked, and so nobody has gone (SAFETY.md E13, D10).
func TestUnitsOutliveOptingOut(t *testing.T) {
	w := newWorld()
	w.external("db", "main:pg")
	w.consumes("web", "store:pg", "db")
	for i := range 20 {
		w.pod(application.Deployment, "web", "web-"+strconv.Itoa(i))
	}
	w.settle(t)
	before := w.records["web"].State
	require.Len(t, before.Units, 20)
	w.optedIn = false
	w.settle(t)
	assert.Equal(t, before.Units, w.records["web"].State.Units)
	w.optedIn = true
	w.settle(t)
	assert.Equal(t, before.Units, w.records["web"].State.Units)
	assert.Equal(t, before.NextUnit, w.records["web"].State.NextUnit)
}
