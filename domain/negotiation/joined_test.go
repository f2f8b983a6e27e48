package negotiation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// An application keeps its relations when another workload joins it, whichever of them is older, and when the workload of
// its name is made again (SAFETY.md A1, L5).
func TestWorkloadsJoinAnApplication(t *testing.T) {
	for name, joins := range map[string]func(*world){
		"Older": func(w *world) {
			w.deployment("helper", map[string]string{application.KeyApplication: "db"})
		},
		"MadeAgain": func(w *world) {
			w.deployment("helper", map[string]string{application.KeyApplication: "db"})
			delete(w.workloads, "Deployment/db")
			w.now = w.now.Add(time.Minute)
			w.deployment("db", map[string]string{application.KeyProvides: "main:pg", "data.tengu.io/main": "host: db"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.deployment("helper", nil)
			w.now = w.now.Add(time.Minute)
			w.deployment("db", map[string]string{application.KeyProvides: "main:pg", "data.tengu.io/main": "host: db"})
			w.handling(application.Deployment, "db", "db-0")
			w.consumes("web", "store:pg", "db")
			w.settle(t)
			before := w.only(t)

			joins(w)
			w.settle(t)
			assert.Equal(t, []string{"Deployment/db", "Deployment/helper"}, w.records["db"].State.Sources)
			assert.False(t, w.only(t).Held(), "it is still declared")
			assert.True(t, w.says("web", condition.Ready).True)
			w.later(t, 48*time.Hour)
			assert.Equal(t, before.UID, w.only(t).UID)
		})
	}
}
