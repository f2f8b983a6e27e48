package collection

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

//nolint:gochecknoglobals // metrics are a process's own
var (
	deleted = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "orcon_job_collected_blobs_total", Help: "Blobs of the store of states that were deleted, since nothing needs them.",
	})
	bytes = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "orcon_job_collected_bytes_total", Help: "Bytes of these blobs.",
	})
	failures = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "orcon_job_collection_failures", Help: "JobWorkspaces whose unneeded blobs could not be deleted; an Event of each has the reason.",
	})
	finished = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "orcon_job_collection_timestamp_seconds", Help: "When the store of states was last gone through without an error.",
	})
	lasted = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "orcon_job_collection_seconds", Help: "How long it took to go through the store of states, the last time without an error.",
	})
	remaining = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "orcon_job_left_states", Help: "JobWorkspaces that are gone whose states are kept for 90 days.",
	})
)

//nolint:gochecknoinits // the registry is a process's own
func init() {
	metrics.Registry.MustRegister(deleted, bytes, failures, finished, lasted, remaining)
}

// measure publishes a collection without errors.
func measure(begun, ended time.Time, left int) {
	finished.Set(float64(ended.Unix()))
	lasted.Set(ended.Sub(begun).Seconds())
	remaining.Set(float64(left))
}
