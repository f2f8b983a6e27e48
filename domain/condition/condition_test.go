package condition_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// Each summary has the three conditions that every kind has (SAFETY.md C1), and
// they do not contradict each other.
func TestSummaries(t *testing.T) {
	tests := map[string]struct {
		why  string
		in   []condition.Condition
		want map[condition.Type]bool
	}{
		"Settled": {
			why:  "nothing is left to do for anybody",
			in:   condition.Settled("Complete", "all is there"),
			want: map[condition.Type]bool{condition.Ready: true, condition.Reconciling: false, condition.Stalled: false},
		},
		"Waiting": {
			why:  "it may become ready by itself",
			in:   condition.Waiting("Complete", "all is there"),
			want: map[condition.Type]bool{condition.Ready: false, condition.Reconciling: true, condition.Stalled: false},
		},
		"Stuck": {
			why:  "a person must act",
			in:   condition.Stuck("Complete", "all is there"),
			want: map[condition.Type]bool{condition.Ready: false, condition.Reconciling: false, condition.Stalled: true},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Len(t, test.in, len(test.want))
			for kind, truth := range test.want {
				c, there := condition.Find(test.in, kind)
				assert.True(t, there)
				assert.Equal(t, condition.Condition{Type: kind, True: truth, Reason: "Complete", Message: "all is there"}, c, test.why)
			}
		})
	}
}

func TestFind(t *testing.T) {
	c, there := condition.Find(condition.Settled("Complete", ""), condition.Held)
	assert.False(t, there)
	assert.Zero(t, c)
}

// A message is never longer than the API takes, nor cut within a letter.
func TestLongMessage(t *testing.T) {
	for cut := range 4 {
		c, _ := condition.Find(condition.Stuck("Faulty", strings.Repeat("x", cut)+strings.Repeat("日", 20000)), condition.Ready)
		assert.Less(t, len(c.Message), 32768)
		assert.Greater(t, len(c.Message), 1024)
		assert.True(t, utf8.ValidString(c.Message))
		assert.True(t, strings.HasSuffix(c.Message, "日…"))
	}
	short, _ := condition.Find(condition.Stuck("Faulty", strings.Repeat("x", 100)), condition.Ready)
	assert.Len(t, short.Message, 100)
}
