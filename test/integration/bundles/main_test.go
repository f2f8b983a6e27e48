// Package bundles tests the engine of bundles against a real API server.
package bundles

import (
	"os"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

func TestMain(m *testing.M) {
	log.SetLogger(log.Log.WithSink(nil)) // the client library has nothing to tell
	os.Exit(controlplane.Main(m))
}
