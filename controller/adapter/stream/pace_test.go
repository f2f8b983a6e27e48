package stream

import (
	"errors"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestPauses(t *testing.T) {
	pace := DefaultPace()
	tests := map[string]struct {
		why      string
		failures int
		eager    bool
		want     time.Duration
	}{
		"First":     {why: "a replica that was replaced is back at once", failures: 0, want: 100 * time.Millisecond},
		"Second":    {why: "then it doubles", failures: 1, want: 200 * time.Millisecond},
		"Eager":     {why: "a waiting pod looks every 10 s at least", failures: 1000, eager: true, want: 10 * time.Second},
		"Calm":      {why: "a running one has time", failures: 1000, want: 30 * time.Second},
		"NoSurplus": {why: "doubling does not overshoot", failures: 7, eager: true, want: 10 * time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, pace.ceiling(test.failures, test.eager), test.why)
		})
	}
	assert.LessOrEqual(t, pace.Quiet+pace.Answer, 15*time.Second, "a dead peer is found in 15 s")
}

// TRUST.md A7: after a stream that has lasted, an agent that is sent away connects again at once, however often.
func TestStreamsThatLastedAreOpenedAgainAtOnce(t *testing.T) {
	pace := DefaultPace()
	pace.First, pace.MostCalm = time.Hour, 24*time.Hour
	aged := connect.NewWireError(connect.CodeUnavailable, errors.New("the stream has reached its greatest age"))
	full := connect.NewWireError(connect.CodeResourceExhausted, errors.New("as many streams as it may"))
	var row attempts
	for range 10 * pace.Elsewhere {
		assert.Zero(t, row.pause(pace, aged, 15*time.Minute, false), "it has reached its age")
	}
	row.away = 0
	for range pace.Elsewhere {
		assert.Zero(t, row.pause(pace, aged, time.Second, false), "replicas that are behind, one after the other")
	}
	assert.NotZero(t, row.pause(pace, aged, time.Second, false))
	assert.NotZero(t, row.pause(pace, full, time.Second, false), "a replica that is full")
	assert.Equal(t, 2, row.failed)
	assert.Zero(t, row.pause(pace, aged, 15*time.Minute, false), "all is well again")
	assert.Zero(t, row.failed)
}

// SAFETY.md D16: full jitter, so that agents do not return in step.
func TestPausesAreSpread(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pace, failures, eager := DefaultPace(), rapid.IntRange(0, 100).Draw(t, "failures"), rapid.Bool().Draw(t, "eager")
		ceiling := pace.ceiling(failures, eager)
		below, above := 0, 0
		for range 200 {
			pause := pace.pause(failures, eager)
			assert.LessOrEqual(t, pause, ceiling)
			assert.GreaterOrEqual(t, pause, time.Duration(0))
			if pause < ceiling/2 {
				below++
			} else {
				above++
			}
		}
		assert.Greater(t, below, 50)
		assert.Greater(t, above, 50)
	})
}
