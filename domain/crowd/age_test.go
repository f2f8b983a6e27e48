package crowd

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// TRUST.md A7: an age is within half and all of the greatest.
func TestAgeIsBounded(t *testing.T) {
	tests := map[string]struct {
		why    string
		chance float64
		want   time.Duration
	}{
		"Oldest":   {why: "none is older", chance: 0, want: time.Hour},
		"Middle":   {why: "the mean is three quarters", chance: 0.5, want: 45 * time.Minute},
		"Youngest": {why: "none connects twice as often as it must", chance: 0.999999, want: 30*time.Minute + 1800*time.Microsecond},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, Age(time.Hour, test.chance), test.why)
		})
	}
}

// TRUST.md A7: of members that came at once, as after an upgrade, each tenth of the chances leaves in a twentieth of the
// greatest age of its own, earlier than the tenth before.
func TestAgesAreSpread(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		greatest := time.Duration(rapid.Int64Range(int64(time.Second), int64(24*time.Hour)).Draw(t, "greatest"))
		chance := rapid.Float64Range(0, 0.9).Draw(t, "chance")
		apart := Age(greatest, chance) - Age(greatest, chance+0.1)
		assert.InDelta(t, float64(greatest)/20, float64(apart), 2)
		assert.Greater(t, Age(greatest, chance), greatest/2)
		assert.LessOrEqual(t, Age(greatest, chance), greatest)
	})
}
