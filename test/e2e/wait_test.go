package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// noEventTwice proves that no Event of Orcon on an object repeats the one before. An Event that comes again after another
// is news: RelationsReady after GateClosed, for a pod that started slowly.
func (w *world) noEventTwice() {
	w.t.Helper()
	list, err := w.client.EventsV1().Events(w.namespace).List(w.t.Context(), metav1.ListOptions{})
	require.NoError(w.t, err)
	told := map[string][]time.Time{} // on each object, by "kind/name reason: note"
	for _, e := range list.Items {
		if e.ReportingController != "relations-controller" {
			continue
		}
		key := fmt.Sprintf("%s/%s %s: %s", e.Regarding.Kind, e.Regarding.Name, e.Reason, e.Note)
		told[key] = append(told[key], e.EventTime.Time)
		for n := int32(1); e.Series != nil && n < e.Series.Count; n++ {
			told[key] = append(told[key], e.Series.LastObservedTime.Time)
		}
	}
	require.NotEmpty(w.t, told)
	for key, times := range told {
		w.t.Logf("%s, at %v", key, times)
		assert.LessOrEqual(w.t, len(times)-1, between(told, key), "twice: %s", key)
	}
}

// between counts the other Events on the same object between the first and the last time of an Event.
func between(told map[string][]time.Time, key string) (others int) {
	object, _, _ := strings.Cut(key, " ")
	first, last := slices.MinFunc(told[key], time.Time.Compare), slices.MaxFunc(told[key], time.Time.Compare)
	for other, times := range told {
		for _, at := range times {
			if other != key && strings.HasPrefix(other, object+" ") && at.After(first) && at.Before(last) {
				others++
			}
		}
	}
	return others
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
