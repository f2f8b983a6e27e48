package bench

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// spread are durations in ascending order.
type spread []time.Duration

func newSpread(took []time.Duration) spread { return slices.Sorted(slices.Values(took)) }

// at returns the smallest duration that a share of them is not above, in
// milliseconds.
func (s spread) at(share float64) float64 {
	return milliseconds(s[int(math.Ceil(share*float64(len(s))))-1])
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// report tells the quantiles of durations, in percent, under a name.
func report(b *testing.B, name string, took []time.Duration, percents ...string) spread {
	b.Helper()
	require.NotEmpty(b, took, "nothing was measured")
	s := newSpread(took)
	for _, percent := range percents {
		share := map[string]float64{"p50": 0.50, "p95": 0.95, "p99": 0.99}[percent]
		b.ReportMetric(s.at(share), name+percent+"-ms")
	}
	b.ReportMetric(0, "ns/op") // of a whole round, which says nothing
	return s
}

// within waits for something for at most d, and tells whether it came about.
func within(d time.Duration, done <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
