// Package bench measures what DESIGN.md promises: the binaries as they ship,
// asked by clients in processes of their own, with a real API server where one
// takes part. It has benchmarks only; `go test` without -bench compiles it.
// Run it on a machine with nothing else to do: scripts/bench.sh.
//
// What must not come in: a target. A benchmark tells, it does not judge.
package bench

import (
	"os"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"
)

// patience is how long a benchmark waits for something that takes
// milliseconds on a machine with nothing else to do.
const patience = time.Minute

func TestMain(m *testing.M) {
	log.SetLogger(log.Log.WithSink(nil)) // the client library has nothing to tell
	if name := os.Getenv(serveAs); name != "" {
		serve(name)
		return
	}
	os.Exit(m.Run())
}
