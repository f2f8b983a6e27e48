package negotiation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// A deleted relation stays until agents without handlers have heard of its end, also those that nothing declares any
// more: their namespace has lost its label, or their workload is deleted and they serve out their grace (RELATIONS.md L4,
// TRUST.md T11).
func TestAgentsWithoutWorkloadHearOfAnEnd(t *testing.T) {
	for name, happens := range map[string]func(w *world){
		"OptedOut": func(w *world) { w.optedIn = false },
		"Strays": func(w *world) {
			delete(w.workloads, "Deployment/web")
			w.strays = map[string]application.Pod{"web-0": w.pods["web-0"]}
			delete(w.pods, "web-0")
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.external("db", "main:pg")
			w.consumes("web", "store:pg", "db")
			w.pod(application.Deployment, "web", "web-0")
			w.settle(t)
			r := w.only(t)
			happens(w)
			w.settle(t)
			require.Empty(t, w.records["web"].State.Units[0].Gone)
			w.remove(r.Name, r.UID)
			w.settle(t)
			require.Len(t, w.relations, 1, "its agent removes files")
			assert.True(t, w.only(t).Ended())
			w.later(t, 10*time.Second)
			assert.Empty(t, w.relations)
		})
	}
}
