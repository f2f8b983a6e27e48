// Package jobs tests the controller of stateful runs against a real API server, with attempts that are processes of this
// machine.
package jobs

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/supply"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

func TestMain(m *testing.M) {
	supply.Child(nil)
	log.SetLogger(log.Log.WithSink(nil)) // the client library has nothing to tell
	if text := os.Getenv(controllerVariable); text != "" {
		_ = os.Unsetenv(controllerVariable)
		var p process
		err := json.Unmarshal([]byte(text), &p)
		if err == nil {
			err = p.serve(ctrl.SetupSignalHandler())
		}
		fmt.Fprintln(os.Stderr, "the controller ends:", err)
		os.Exit(1)
	}
	os.Exit(controlplane.Main(m))
}
