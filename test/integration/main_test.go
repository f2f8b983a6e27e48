// Package integration tests the controller against a real API server.
package integration

import (
	"os"
	"testing"

	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

func TestMain(m *testing.M) { os.Exit(controlplane.Main(m)) }
