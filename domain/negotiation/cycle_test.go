package negotiation_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// A gate cycle counts missing fields as it counts missing data. Handlers run before the gate, so that applications with
// handlers are in no cycle (SAFETY.md I17).
func TestGateCycleIsOfWhatOnlyContainersGive(t *testing.T) {
	for name, test := range map[string]struct {
		why    string
		more   []string
		reason string
		want   string
	}{
		"Part":     {why: "only relation-set in containers that wait gives the rest", reason: relation.ReasonMissing, want: "a, b wait for each other: set tengu.io/gate: none on one of them"},
		"Handlers": {why: "handlers give the rest", more: []string{application.KeyHandlers, "/handlers"}, reason: relation.ReasonMissing},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.interfaces = library(t)
			for _, pair := range [][2]string{{"a", "b"}, {"b", "a"}} {
				own, other := pair[0], pair[1]
				w.consumes(own, "to-"+other+":postgresql_client", "to-"+other+"="+other, test.more...)
				w.service(own, map[string]string{application.KeyProvides: "from:postgresql_client"})
			}
			w.settle(t)
			for _, r := range values(w.relations) {
				assert.Equal(t, test.reason, ready(r.Relation).Reason)
			}
			for _, app := range []string{"a", "b"} {
				assert.Equal(t, test.want, w.says(app, condition.GateCycle).Message, test.why)
			}
		})
	}
}

// Applications with handlers that have no data yet are in no cycle: no person has to act (SAFETY.md C1, I17).
func TestHandlersAreNoGateCycle(t *testing.T) {
	w := newWorld()
	for _, pair := range [][2]string{{"a", "b"}, {"b", "a"}} {
		w.consumes(pair[0], "to-"+pair[1]+":ring", "to-"+pair[1]+"="+pair[1], application.KeyProvides, "from:ring", application.KeyHandlers, "/handlers")
	}
	w.settle(t)
	for _, app := range []string{"a", "b"} {
		assert.Empty(t, w.says(app, condition.GateCycle).Message)
		assert.False(t, w.says(app, condition.Stalled).True)
	}
}
