// Package certificates tests, against a real API server, that certificates are
// renewed without a failed admission.
package certificates

import (
	"os"
	"testing"

	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

func TestMain(m *testing.M) { os.Exit(controlplane.Main(m)) }
