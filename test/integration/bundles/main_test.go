// Package bundles tests the engine of bundles against a real API server.
package bundles

import (
	"fmt"
	"os"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/content/render"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/supply"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// fetched holds the folders of all controllers. What they fetch may outlive the test that they are of.
var fetched string //nolint:gochecknoglobals // TestMain has no other way to hand it on

func TestMain(m *testing.M) {
	supply.Child(render.Output)
	log.SetLogger(log.Log.WithSink(nil)) // the client library has nothing to tell
	var err error
	if fetched, err = os.MkdirTemp("", "orcon-bundles-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := controlplane.Main(m)
	_ = os.RemoveAll(fetched)
	os.Exit(code)
}
