package bundledeployment

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The status lists what is left out of a chart, also after a restart, and no longer once the chart has no such hook
// (CONTENT.md X2).
func TestNotes(t *testing.T) {
	w := newWorld(t, "")
	const test = "apiVersion: v1\nkind: Pod\nmetadata: {name: ping, annotations: {helm.sh/hook: test}}\n"
	w.source = map[string]string{
		"Chart.yaml": "{apiVersion: v2, name: shop, version: 0.1.0}\n", "templates/a.yaml": configMaps("a"), "templates/ping.yaml": test,
	}
	r := w.leader()
	for range 2 {
		w.run(r, "Healthy")
		assert.Equal(t, []string{"Pod ping is a Helm test and is left out"}, w.deployment().Status.Notes)
		r = w.leader()
	}
	delete(w.source, "templates/ping.yaml")
	w.pass(r.Resync)
	w.run(r, "Healthy")
	assert.Empty(t, w.deployment().Status.Notes)
}
