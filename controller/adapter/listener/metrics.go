package listener

import "github.com/prometheus/client_golang/prometheus"

// Refused counts connections that were closed because they proved no identity in time, or were too many.
//
//nolint:gochecknoglobals // metrics are a process's own
var Refused = prometheus.NewCounter(prometheus.CounterOpts{
	Name: "orcon_connections_refused_total", Help: "Connections that were closed because they proved no identity in time, or were too many.",
})
