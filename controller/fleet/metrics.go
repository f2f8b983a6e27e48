package fleet

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/integrationset"
)

// The labels of metrics about a set.
const (
	namespaceLabel = "namespace"
	setLabel       = "set"
)

//nolint:gochecknoglobals // metrics are a process's own
var (
	standings = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "orcon_fleet_members", Help: "Members of an IntegrationSet, by state: Ready, UnderWay or Stalled.",
	}, []string{namespaceLabel, setLabel, "state"})
	shards = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "orcon_fleet_workloads", Help: "Shards and cron jobs that the data declare for an IntegrationSet, without disabled ones.",
	}, []string{namespaceLabel, setLabel})
	faults = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "orcon_fleet_faults", Help: "Errors of the data of an IntegrationSet.",
	}, []string{namespaceLabel, setLabel})
	held = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "orcon_fleet_removals_held", Help: "Workloads of an IntegrationSet that wait for the confirmation of their removal.",
	}, []string{namespaceLabel, setLabel})
	fetched = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "orcon_fleet_data_timestamp_seconds", Help: "When all sources of an IntegrationSet's data were last fetched.",
	}, []string{namespaceLabel, setLabel})
)

//nolint:gochecknoinits // the registry is a process's own
func init() {
	metrics.Registry.MustRegister(standings, shards, faults, held, fetched)
}

// measure publishes what a look at a set has found, which read data that was fetched at that time.
func measure(name types.NamespacedName, found integrationset.Result, at time.Time) {
	set := prometheus.Labels{namespaceLabel: name.Namespace, setLabel: name.Name}
	states := map[integrationset.State]int{integrationset.Ready: 0, integrationset.UnderWay: 0, integrationset.Stalled: 0}
	for _, m := range found.Standing {
		states[m.State]++
	}
	for state, n := range states {
		standings.With(prometheus.Labels{namespaceLabel: name.Namespace, setLabel: name.Name, "state": string(state)}).Set(float64(n))
	}
	workloads, waiting := 0, 0
	for _, w := range found.Wanted {
		workloads += w.Workloads
	}
	if found.Removal != nil {
		waiting = found.Removal.Workloads
	}
	shards.With(set).Set(float64(workloads))
	faults.With(set).Set(float64(len(found.Faults)))
	held.With(set).Set(float64(waiting))
	fetched.With(set).Set(float64(at.Unix()))
}

// unmeasure ends the metrics of a set that is gone.
func unmeasure(name types.NamespacedName) {
	set := prometheus.Labels{namespaceLabel: name.Namespace, setLabel: name.Name}
	for _, m := range []*prometheus.GaugeVec{standings, shards, faults, held, fetched} {
		m.DeletePartialMatch(set)
	}
}
