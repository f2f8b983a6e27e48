package negotiation_test

import (
	"maps"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// handling makes a pod, with an address and with handlers.
func (w *world) handling(kind application.WorkloadKind, app, name string) {
	w.pod(kind, app, name)
	p := w.pods[name]
	p.Annotations, p.Address = map[string]string{application.KeyHandlers: "/handlers"}, "10.0.0.1"
	w.pods[name] = p
}

// answers has the handlers of a unit answer for all departures that it is asked for.
func (w *world) answers(t require.TestingT, by conversation.Unit, handled bool) {
	r := w.only(t)
	for i, d := range r.State.Departures {
		r.State.Departures[i] = d.Answered(by, conversation.Answer{Unit: d.Unit, Since: d.Since, Handled: handled})
	}
	w.setState(r.Name, r.State)
}

// departures says of each departure who is owed it.
func (w *world) departures(t require.TestingT) map[string][]conversation.Unit {
	all := map[string][]conversation.Unit{}
	for _, d := range w.only(t).State.Departures {
		all[d.Unit.String()] = d.Owed
	}
	return all
}

// A departure is owed to those that may have known who departed, until they have
// answered, and remembered for an hour more with what the unit said (SAFETY.md E15,
// P2).
func TestDeparturesAreOwed(t *testing.T) {
	w := newWorld()
	w.deployment("db", map[string]string{application.KeyProvides: "main:pg", "data.tengu.io/main": "host: db"})
	w.consumes("web", "store:pg", "db")
	for _, name := range []string{"web-0", "web-1", "web-2"} {
		w.pod(application.Deployment, "web", name)
		p := w.pods[name]
		p.Address = "10.0.1.1"
		w.pods[name] = p
	}
	w.handling(application.Deployment, "db", "db-0")
	w.handling(application.Deployment, "db", "db-1")
	w.settle(t)
	said := w.say(w.only(t), "web", "0", map[string]string{"a": "b"})
	db := func(n int) conversation.Unit { return conversation.Unit{Application: "db", Number: n} }

	t.Log("owed to both; what nobody has handlers for is owed to nobody")
	delete(w.pods, "web-0")
	delete(w.pods, "db-1")
	w.settle(t)
	assert.Equal(t, map[string][]conversation.Unit{"web/0": {db(0)}, "db/1": nil}, w.departures(t), "db/1 went too, and web has no handlers")
	w.later(t, 3*time.Hour)
	assert.Contains(t, w.databags, said, "as long as it is owed")

	t.Log("handled: remembered for an hour more")
	w.answers(t, db(0), true)
	w.settle(t)
	w.later(t, 59*time.Minute)
	assert.Contains(t, w.departures(t), "web/0")
	assert.Contains(t, w.databags, said)
	w.later(t, 2*time.Minute)
	assert.Empty(t, w.departures(t))
	assert.NotContains(t, w.databags, said)

	t.Log("nobody is left: the leader inherits it")
	delete(w.pods, "web-1")
	w.settle(t)
	assert.Equal(t, map[string][]conversation.Unit{"web/1": {db(0)}}, w.departures(t))
	delete(w.pods, "db-0")
	w.handling(application.Deployment, "db", "db-9")
	w.settle(t)
	w.later(t, 2*time.Hour)
	assert.Equal(t, map[string][]conversation.Unit{"web/1": nil}, w.departures(t), "a unit that came later is owed nothing, but as leader")
	assert.True(t, w.only(t).State.Departures[0].Inherited())
	w.answers(t, db(2), true)
	w.settle(t)
	w.later(t, 2*time.Hour)
	assert.Empty(t, w.departures(t))
}

// A departed unit stays in the record of its application as long as a relation remembers
// its departure, and for an hour in any case; its number is never given again (SAFETY.md
// P2, D10).
func TestDepartedUnitsAreForgotten(t *testing.T) {
	w := newWorld()
	w.deployment("db", map[string]string{application.KeyProvides: "main:pg", "data.tengu.io/main": "host: db"})
	w.consumes("web", "store:pg", "db")
	w.handling(application.Deployment, "db", "db-0")
	w.handling(application.Deployment, "web", "web-0")
	w.settle(t)
	numbers := func() []int {
		var all []int
		for _, u := range w.records["web"].State.Units {
			all = append(all, u.Number)
		}
		return all
	}

	t.Log("the departure is owed: the unit stays, however long")
	delete(w.pods, "web-0")
	w.settle(t)
	w.later(t, 30*time.Hour)
	assert.Equal(t, []int{0}, numbers())

	t.Log("it is over, and remembered for an hour more")
	w.answers(t, conversation.Unit{Application: "db", Number: 0}, true)
	w.settle(t)
	w.later(t, 59*time.Minute)
	assert.Equal(t, []int{0}, numbers())
	w.later(t, 2*time.Minute)
	assert.Empty(t, numbers())
	assert.Equal(t, 1, w.records["web"].State.NextUnit)

	t.Log("nobody was there to know the next one: it stays for an hour")
	delete(w.pods, "db-0")
	w.settle(t)
	w.later(t, 2*time.Hour)
	w.handling(application.Deployment, "web", "web-1")
	w.settle(t)
	delete(w.pods, "web-1")
	w.settle(t)
	w.later(t, 59*time.Minute)
	assert.Equal(t, []int{1}, numbers(), "and has another number")
	w.later(t, 2*time.Minute)
	assert.Empty(t, numbers())
	w.handling(application.Deployment, "web", "web-2")
	w.settle(t)
	assert.Equal(t, []int{2}, numbers(), "D10: no number is given twice")
}

// A unit of a StatefulSet that is there again has not departed.
func TestReturnedUnitHasNotDeparted(t *testing.T) {
	w := newWorld()
	w.deployment("db", map[string]string{application.KeyProvides: "main:pg", "data.tengu.io/main": "host: db"})
	w.handling(application.Deployment, "db", "db-x")
	w.workload(application.StatefulSet, "web", map[string]string{application.KeyConsumes: "store:pg", application.KeyRelations: "db"})
	scale := func(to int) {
		set := w.workloads["StatefulSet/web"]
		set.Replicas = to
		w.workloads["StatefulSet/web"] = set
		maps.DeleteFunc(w.pods, func(name string, _ application.Pod) bool { return name != "db-x" })
		for i := range to {
			name := "web-" + strconv.Itoa(i)
			w.handling(application.StatefulSet, "web", name)
			p := w.pods[name]
			p.Ordinal = i
			w.pods[name] = p
		}
	}
	scale(2)
	w.settle(t)
	delete(w.pods, "web-1")
	w.settle(t)
	assert.Empty(t, w.departures(t), "it is only between two pods")
	scale(1)
	w.settle(t)
	assert.Contains(t, w.departures(t), "web/1")
	scale(2)
	w.settle(t)
	assert.Empty(t, w.departures(t))
}

// However many depart at once, a relation remembers 64 of them (SAFETY.md P2).
func TestDeparturesAreBounded(t *testing.T) {
	w := newWorld()
	w.deployment("db", map[string]string{application.KeyProvides: "main:pg", "data.tengu.io/main": "host: db"})
	w.handling(application.Deployment, "db", "db-0")
	w.consumes("web", "store:pg", "db")
	for i := range 40 {
		w.handling(application.Deployment, "web", "web-"+strconv.Itoa(i))
	}
	w.settle(t)
	for i := range 39 {
		delete(w.pods, "web-"+strconv.Itoa(i))
	}
	w.settle(t)
	assert.Len(t, w.departures(t), 39, "from 40 to 1 at once, none is lost")
	for i := range 40 {
		w.handling(application.Deployment, "web", "more-"+strconv.Itoa(i))
	}
	w.settle(t)
	for i := range 40 {
		delete(w.pods, "more-"+strconv.Itoa(i))
	}
	w.later(t, time.Minute)
	assert.Len(t, w.departures(t), 64)
}

// What nobody can handle gives way to what somebody is owed (SAFETY.md E15).
func TestOwedDeparturesOutliveOthers(t *testing.T) {
	w := newWorld()
	w.deployment("db", map[string]string{application.KeyProvides: "main:pg", "data.tengu.io/main": "host: db"})
	w.consumes("web", "store:pg", "db")
	w.handling(application.Deployment, "web", "web-0")
	for _, name := range []string{"db-0", "db-1"} {
		w.handling(application.Deployment, "db", name)
		p := w.pods[name]
		p.Annotations = nil
		w.pods[name] = p
	}
	w.settle(t)
	delete(w.pods, "db-1")
	w.settle(t)
	require.Contains(t, w.departures(t), "db/1")
	for i := range 70 {
		w.handling(application.Deployment, "web", "more-"+strconv.Itoa(i))
	}
	w.later(t, time.Second)
	for i := range 70 {
		delete(w.pods, "more-"+strconv.Itoa(i))
	}
	w.later(t, time.Second)
	assert.Len(t, w.departures(t), 64)
	assert.NotEmpty(t, w.departures(t)["db/1"], "web/0 has handlers, and has yet to answer")
}
