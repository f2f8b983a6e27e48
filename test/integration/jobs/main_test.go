// Package jobs tests the controller of stateful runs against a real API server, with attempts that are processes of this
// machine.
package jobs

import (
	"os"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/supply"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

func TestMain(m *testing.M) {
	supply.Child()
	log.SetLogger(log.Log.WithSink(nil)) // the client library has nothing to tell
	os.Exit(controlplane.Main(m))
}
