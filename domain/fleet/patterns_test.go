package fleet_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet"
)

// The expressions of a chart's schema are compiled in the memory of the controller of all bundles (TRUST.md U6).
func TestLargePatterns(t *testing.T) {
	schema := `{"properties": {"integrations": {"items": {"properties": {"name": {"pattern": "` + strings.Repeat(".{0,1000}", 400) + `"}}}}}}`
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := fleet.ParseSchema([]byte(schema))
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(50<<20))
	require.ErrorContains(t, err, "is too large")
}
