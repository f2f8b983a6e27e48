package serve

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/listener"
)

//nolint:gochecknoglobals // metrics are a process's own
var (
	streams = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "orcon_agent_streams", Help: "Agents that hold a stream to this replica.",
	})
	crowded = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "orcon_agent_streams_refused_total", Help: "Streams that this replica refused or ended, because it has as many as it may.",
	})
	commits = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "orcon_commits_total", Help: "Transactions that this replica stored for units.",
	})
	snapshots = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "orcon_snapshots_sent_total", Help: "Snapshots sent to agents by this replica.",
	})
)

//nolint:gochecknoinits // the registry is a process's own
func init() {
	metrics.Registry.MustRegister(streams, crowded, commits, snapshots, listener.Refused)
}
