package bench

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkExchange measures the processor time that a process takes to serve
// one admission over HTTP, in turns with controller-runtime's no-op, so that
// both see the same machine. The target is a ratio of 0.5 (DESIGN.md).
func BenchmarkExchange(b *testing.B) {
	const warming, turn = 500, 50
	servers, body := []served{startServing(b, ours), startServing(b, noop)}, captured(b)
	turns := func(n int) {
		for _, s := range servers {
			for range n {
				s.exchange(b, body)
			}
		}
	}
	turns(warming)
	before := []time.Duration{servers[0].usage(b), servers[1].usage(b)}
	n := 0
	for b.Loop() {
		turns(turn)
		n += turn
	}
	our, their := servers[0].usage(b)-before[0], servers[1].usage(b)-before[1]
	b.ReportMetric(float64(our.Microseconds())/float64(n), "pod-us")
	b.ReportMetric(float64(their.Microseconds())/float64(n), "noop-us")
	b.ReportMetric(float64(our)/float64(their), "ratio")
	b.ReportMetric(0, "ns/op") // of both, and of the client
}

// exchange asks once.
func (s served) exchange(b *testing.B, body []byte) {
	b.Helper()
	response, err := http.Post(s.plain+"/mutate", "application/json", bytes.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		b.Fatalf("%s answered %s", s.plain, response.Status)
	}
}

// usage is the processor time that the server has used.
func (s served) usage(b *testing.B) (used time.Duration) {
	b.Helper()
	response, err := http.Get(s.plain + "/usage")
	require.NoError(b, err)
	defer func() { _ = response.Body.Close() }()
	_, err = fmt.Fscan(response.Body, &used)
	require.NoError(b, err)
	return used
}
