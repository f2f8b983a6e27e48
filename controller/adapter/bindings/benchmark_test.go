package bindings_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/bindings"
)

// BenchmarkWrite replaces one of three files, as a provider's change does.
func BenchmarkWrite(b *testing.B) {
	volume := bindings.Volume{Path: b.TempDir()}
	n := 0
	for b.Loop() {
		n++
		require.NoError(b, volume.Write("db", map[string]string{"type": "postgresql", "provider": "db", "host": strconv.Itoa(n)}))
	}
}
