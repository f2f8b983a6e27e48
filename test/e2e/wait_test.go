package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A pod that waits has its IP, says why in its log, in its Events and on its
// application, and is deleted like any other; the gate opens by itself when the
// provider appears (INJECTION.md I16).
func TestGate(t *testing.T) {
	t.Parallel()
	w := withOrcon(t)
	w.apply(workload{kind: "Deployment", name: "app", annotations: consumesDB, script: complete("db-endpoint", "db.tengu.io") + "exec sleep infinity", grace: 30}.yaml())
	pod := w.waiting("app", 1)[0]
	const why = "no Service or workload named db-endpoint"
	w.contains(why, "logs", pod.Name, "-c", "relation-agent")
	w.contains(why, "get", "relatedapplication", "app", "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].message}`)
	w.contains(why, "get", "events", "--field-selector", "involvedObject.name="+pod.Name, "-o", "jsonpath={.items[*].message}")
	w.contains(why, "exec", pod.Name, "-c", "relation-agent", "--", "/relation-agent", "status")

	t.Logf("a waiting pod with 30 s of grace was gone %s after its deletion", w.deletion(pod))
	pod = w.waiting("app", 1)[0]
	w.apply(external("db-endpoint", "db", "db.tengu.io"))
	opened := w.running("app", 1)[0]
	assert.Equal(t, pod.UID, opened.UID, "the pod that waited is the one that runs")
	assert.Zero(t, mainStatus(&opened).RestartCount, "its first start found everything")
	assert.Zero(t, agentStatus(&opened).RestartCount)
	w.noEventTwice()
}

// noEventTwice proves that no object has two Events of Orcon that tell the same.
func (w *world) noEventTwice() {
	w.t.Helper()
	events := w.kubectl("get", "events", "-o", `jsonpath={range .items[?(@.reportingComponent=="relations-controller")]}{.involvedObject.kind}/{.involvedObject.name} {.reason}: {.message} ×{.series.count}{"\n"}{end}`)
	w.t.Log(events)
	require.NotEmpty(w.t, events)
	seen := map[string]bool{}
	for line := range strings.Lines(events) {
		event, again, _ := strings.Cut(strings.TrimSpace(line), " ×")
		assert.False(w.t, seen[event] || again != "", "twice: %s", event)
		seen[event] = true
	}
}

// tengu.io/gate: none starts without waiting, an optional endpoint is not waited
// for, and both get their data when it comes (SAFETY.md I17).
func TestNoGate(t *testing.T) {
	t.Parallel()
	w := withOrcon(t)
	w.apply(sleeper("Deployment", "ungated", consumesDB+`, tengu.io/gate: none`))
	w.apply(sleeper("Deployment", "optional", `tengu.io/consumes: "db?", tengu.io/relations: db-endpoint`))
	w.apply(sleeper("Deployment", "gated", consumesDB))
	ungated, optional := w.running("ungated", 1)[0], w.running("optional", 1)[0]
	w.waiting("gated", 1)
	assert.Empty(t, w.sh(ungated.Name, "echo $DB; ls /bindings"))
	w.apply(external("db-endpoint", "db", "db.tengu.io"))
	w.running("gated", 1)
	for _, pod := range []string{ungated.Name, optional.Name} {
		w.reads("db.tengu.io", pod, "/bindings/db/host")
	}
	assert.Equal(t, ungated.UID, w.running("ungated", 1)[0].UID)
}

// Applications whose gates wait for each other are told so, each of them; and
// data written on the workload itself ends it (SAFETY.md I17).
func TestGateCycle(t *testing.T) {
	t.Parallel()
	w := withOrcon(t)
	both := func(own, other string) string {
		return `tengu.io/provides: "` + own + `", tengu.io/consumes: "` + other + `", tengu.io/relations: "` + other + `=` + other + `"`
	}
	w.apply(sleeper("Deployment", "left", both("left", "right")))
	w.apply(sleeper("Deployment", "right", both("right", "left")))
	w.waiting("left", 1)
	w.waiting("right", 1)
	for _, name := range []string{"left", "right"} {
		w.prints("True", "get", "relatedapplication", name, "-o", `jsonpath={.status.conditions[?(@.type=="GateCycle")].status}`)
		w.contains("left, right wait for each other", "get", "events", "--field-selector", "involvedObject.name="+name, "-o", "jsonpath={.items[*].message}")
	}
	w.kubectl("annotate", "deployment", "left", "data.tengu.io/left=user: me")
	right := w.running("right", 1)[0]
	assert.Equal(t, "me", w.sh(right.Name, "cat /bindings/left/user"), "data from a workload that has not started")
	w.kubectl("annotate", "deployment", "right", "data.tengu.io/right=user: you")
	w.running("left", 1)
	w.relation("left", "right", "ready", relationReady)
	w.relation("right", "left", "ready", relationReady)
}
