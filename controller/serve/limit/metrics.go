package limit

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

//nolint:gochecknoglobals // metrics are a process's own
var (
	limited = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "orcon_writes_limited_total", Help: "Writes of units that this replica has put off, by the budget that was used up.",
	}, []string{"budget"})
	readsLimited = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "orcon_requests_limited_total", Help: "Requests of pods that this replica has put off, by the budget that was used up.",
	}, []string{"budget"})
)

//nolint:gochecknoinits // the registry is a process's own
func init() {
	metrics.Registry.MustRegister(limited, readsLimited)
}
