// Package webhook tests the real webhook, asked by a real API server.
package webhook

import (
	"os"
	"testing"

	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

func TestMain(m *testing.M) { os.Exit(controlplane.Main(m)) }
