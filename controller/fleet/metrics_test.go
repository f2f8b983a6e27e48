package fleet

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// gauges returns the metrics of fleets for the set fleet/prod, by name and state.
func gauges(t *testing.T) map[string]float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	require.NoError(t, err)
	all := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if labels[namespaceLabel] == "fleet" && labels[setLabel] == "prod" {
				all[family.GetName()+labels["state"]] = m.GetGauge().GetValue()
			}
		}
	}
	return all
}

// Metrics count members by state, what runs, and how old the data are (FLEET.md P3); those of a set that is gone end.
func TestMetrics(t *testing.T) {
	w := newWorld(t)
	w.runs("a", "3")
	w.runs("b", "1")
	w.settle(w.process())
	is := gauges(t)
	assert.InDelta(t, float64(w.now.Unix()), is["orcon_fleet_data_timestamp_seconds"], 60)
	delete(is, "orcon_fleet_data_timestamp_seconds")
	assert.Equal(t, map[string]float64{
		"orcon_fleet_membersReady": 3, "orcon_fleet_membersUnderWay": 0, "orcon_fleet_membersStalled": 0,
		"orcon_fleet_workloads": 4, "orcon_fleet_faults": 0, "orcon_fleet_removals_held": 0,
	}, is)
	w.runs("a", "0")
	w.files["b.yml"] += "odd: 1\n"
	w.settle(w.process())
	is = gauges(t)
	assert.InDelta(t, 1, is["orcon_fleet_faults"], 0)
	assert.InDelta(t, 3, is["orcon_fleet_removals_held"], 0)
	w.leave(w.set)
	assert.Empty(t, gauges(t))
}
