package negotiation_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// stateful is a StatefulSet db whose two pods have handlers, and a consumer of it with two pods.
func stateful(t require.TestingT) *world {
	w := newWorld()
	w.workload(application.StatefulSet, "db", map[string]string{application.KeyProvides: "main:pg", "data.tengu.io/main": "host: db"})
	set := w.workloads["StatefulSet/db"]
	set.Replicas = 2
	w.workloads["StatefulSet/db"] = set
	for i := range 2 {
		w.handling(application.StatefulSet, "db", "db-"+strconv.Itoa(i))
		p := w.pods["db-"+strconv.Itoa(i)]
		p.Ordinal = i
		w.pods[p.Name] = p
	}
	w.consumes("web", "store:pg", "db")
	for _, name := range []string{"web-0", "web-1"} {
		w.pod(application.Deployment, "web", name)
		p := w.pods[name]
		p.Address = "10.0.1.1"
		w.pods[name] = p
	}
	w.settle(t)
	return w
}

// withoutHandlers replaces a pod by one of the same name that has none.
func (w *world) withoutHandlers(name string) {
	p := w.pods[name]
	p.Annotations, p.UID = nil, "another-"+p.UID
	w.pods[name] = p
}

// A pod is replaced by one of the same name and number whose template has no handlers any more: it never answers, and
// what is owed does not wait for it (TRUST.md T2, SAFETY.md E15).
func TestNothingIsOwedToAUnitWithoutHandlers(t *testing.T) {
	db := func(n int) conversation.Unit { return conversation.Unit{Application: "db", Number: n} }
	t.Run("End", func(t *testing.T) {
		w := stateful(t)
		r := w.only(t)
		w.remove(r.Name, r.UID)
		w.settle(t)
		side := func() relation.Side { return w.sides[r.SideName(application.Provider)] }
		require.Equal(t, []conversation.Unit{db(0), db(1)}, side().Teardown.Owed)
		w.withoutHandlers("db-0")
		w.settle(t)
		answered := side()
		ended := *answered.Teardown
		ended.Debt = ended.Answered(db(1), true)
		answered.Teardown = &ended
		w.sides[answered.Name()] = answered
		w.settle(t)
		w.later(t, time.Minute)
		assert.NotEqual(t, r.UID, w.only(t).UID, "the next relation of the pair")
	})
	t.Run("Departure", func(t *testing.T) {
		w := stateful(t)
		delete(w.pods, "web-1")
		w.settle(t)
		require.Equal(t, map[string][]conversation.Unit{"web/1": {db(0), db(1)}}, w.departures(t))
		w.withoutHandlers("db-0")
		w.settle(t)
		w.answers(t, db(1), true)
		w.settle(t)
		w.later(t, 2*time.Hour)
		assert.Empty(t, w.departures(t))
	})
}
