package program_test

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/program"
)

// What a schema's author and the author of parameters write together costs the controller of all namespaces neither its time
// nor its memory (TRUST.md U6).
func TestCostlySchema(t *testing.T) {
	const took = 5 * time.Second
	ones, twos := strings.Repeat("1,", 5000)+"1", make([]any, 5000)
	for i := range twos {
		twos[i] = 2
	}
	patterns := strings.Repeat(`{"pattern": "(.a?)*b"},`, 1000)
	for label, test := range map[string]struct {
		schema string
		value  any
	}{
		"Enum":     {`{"properties": {"a": {"items": {"enum": [` + ones + `]}}}}`, twos},
		"Patterns": {`{"properties": {"a": {"not": {"anyOf": [` + patterns + `false]}}}}`, strings.Repeat("a", 200_000)},
		"Pattern":  {`{"properties": {"a": {"pattern": "^` + strings.Repeat(".{0,1000}", 20) + `b$"}}}`, strings.Repeat("a", 50_000)},
	} {
		t.Run(label, func(t *testing.T) {
			began := time.Now()
			s, err := program.ParseSchema([]byte(test.schema))
			if err == nil {
				err = s.Check(map[string]any{"a": test.value}, nil)
			}
			require.ErrorContains(t, err, "costs too much")
			require.Less(t, time.Since(began), took)
		})
	}
}

// What does not fit is described in a few lines, however large it is and however many schemas it does not fit.
func TestLargeMisfit(t *testing.T) {
	s, err := program.ParseSchema([]byte(`{"properties": {"a": {"allOf": [` + strings.Repeat(`{"pattern": "^b"},`, 100) + `{}]}}}`))
	require.NoError(t, err)
	require.Less(t, len(s.Check(map[string]any{"a": strings.Repeat("a", 1<<20)}, nil).Error()), 64<<10)
}

// The expressions of a schema are compiled in the controller's memory.
func TestLargePatterns(t *testing.T) {
	var all []string
	for range 8 {
		all = append(all, `{"pattern": "`+strings.Repeat(".{0,1000}", 1500)+`"}`)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := program.ParseSchema([]byte(`{"allOf": [` + strings.Join(all, ",") + `]}`))
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(100<<20))
	require.ErrorContains(t, err, "is too large")
}
