package identity

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

//nolint:gochecknoglobals // metrics are a process's own
var (
	reviews = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "orcon_token_reviews_total", Help: "Tokens that the API server reviewed for this replica.",
	})
	refusals = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "orcon_tokens_refused_total", Help: "Tokens that this replica refused without a review.",
	})
)

//nolint:gochecknoinits // the registry is a process's own
func init() { metrics.Registry.MustRegister(reviews, refusals) }
