package bundle_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// TRUST.md R5: locations are named, causes are not.
func TestUnquoted(t *testing.T) {
	cause := errors.New("swordfish is wrong")
	tests := map[string]struct {
		why  string
		err  error
		want string
	}{
		"Unknown":  {why: "nothing is known to be safe", err: fmt.Errorf("cannot order: %w", cause), want: "the content is wrong"},
		"Located":  {why: "the location quotes nothing", err: bundle.Located("a.yaml, line 1", cause), want: "a.yaml, line 1"},
		"Wrapped":  {why: "by words that may quote", err: fmt.Errorf("swordfish: %w", bundle.Located("a.yaml, line 1", cause)), want: "a.yaml, line 1"},
		"Inner":    {why: "the most precise one", err: bundle.Located("chart web", bundle.Located("a.yaml, line 1", cause)), want: "a.yaml, line 1"},
		"Many":     {why: "each of them", err: errors.Join(bundle.Located("a.yaml", cause), cause, bundle.Located("b.yaml", nil)), want: "a.yaml; b.yaml"},
		"Explains": {why: "a location may be all", err: bundle.Located("port: must be at most 5", nil), want: "port: must be at most 5"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			err := bundle.Unquoted(tc.err)
			require.ErrorContains(t, err, tc.want+" (details hidden, ", tc.why)
			assert.NotContains(t, err.Error(), "swordfish", tc.why)
		})
	}
	require.NoError(t, bundle.Unquoted(nil))
	require.EqualError(t, bundle.Located("a.yaml", cause), "a.yaml: swordfish is wrong")
	require.EqualError(t, bundle.Located("a.yaml", nil), "a.yaml")
	require.ErrorIs(t, bundle.Located("a.yaml", cause), cause)
}
