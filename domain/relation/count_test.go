package relation_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// An agent raises the highest id to the one that it has received, by 2^20 at most, and never lowers it (TRUST.md T3).
func TestRaise(t *testing.T) {
	tests := map[string]struct {
		why                     string
		counted, received, want int
		refused                 bool
	}{
		"Silent":   {why: "an older agent names none", counted: 7, want: 7},
		"Known":    {why: "each agent names one that was counted", counted: 7, received: 7, want: 7},
		"Lower":    {why: "the agent was away", counted: 7, received: 3, want: 7},
		"Negative": {why: "it is not an id", counted: 7, received: -1, want: 7},
		"Restored": {why: "the store was restored from a backup with 7", counted: 7, received: 9, want: 9},
		"Lost":     {why: "the backup had no count", received: 9, want: 9},
		"Most":     {why: "as far as an agent is trusted", counted: 7, received: 7 + 1<<20, want: 7 + 1<<20},
		"TooFar":   {why: "an agent may be anyone's program", counted: 7, received: 8 + 1<<20, want: 7, refused: true},
		"Highest":  {why: "no id is left after it", counted: 7, received: math.MaxInt, want: 7, refused: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			after, err := relation.Count{LastRelation: test.counted}.Raise(test.received)
			assert.Equal(t, test.want, after.LastRelation, test.why)
			if test.refused {
				require.ErrorIs(t, err, relation.ErrFarAhead)
			} else {
				require.NoError(t, err)
			}
		})
	}
}
