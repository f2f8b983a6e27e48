// Package integration tests the controller against a real API server.
package integration

import (
	"os"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

func TestMain(m *testing.M) {
	log.SetLogger(log.Log.WithSink(nil)) // the client library has nothing to report
	os.Exit(controlplane.Main(m))
}
