package leadership_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/leadership"
)

// SAFETY.md P1: who leads, from when and for how long.
func TestLeaderClaims(t *testing.T) {
	now := epoch()
	first := leadership.Leader{}.Claim(0, "a", now)
	tests := map[string]struct {
		why  string
		unit int
		pod  string
		at   time.Duration
		want leadership.Leader
	}{
		"First":      {why: "nobody led", pod: "a", want: leadership.Leader{PodUID: "a", Term: 1, Expires: now.Add(time.Minute)}},
		"Renew":      {why: "the term stays while the lease holds", pod: "a", at: 59 * time.Second, want: leadership.Leader{PodUID: "a", Term: 1, Expires: now.Add(119 * time.Second)}},
		"Early":      {why: "a lease that was renewed just now is not written again", pod: "a", at: 10 * time.Second, want: first},
		"Other":      {why: "one leads", unit: 1, pod: "b", at: 30 * time.Second, want: first},
		"OtherEarly": {why: "clocks differ", unit: 1, pod: "b", at: 64 * time.Second, want: first},
		"OtherThen":  {why: "5 s after the end", unit: 1, pod: "b", at: 65 * time.Second, want: leadership.Leader{Unit: 1, PodUID: "b", Term: 2, Expires: now.Add(125 * time.Second)}},
		"TooLate":    {why: "who let the lease end waits like all others", pod: "a", at: 61 * time.Second, want: first},
		"Restarted":  {why: "the same unit's old pod is gone", pod: "a2", at: time.Second, want: leadership.Leader{PodUID: "a2", Term: 2, Expires: now.Add(61 * time.Second)}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, first.Claim(test.unit, test.pod, now.Add(test.at)), test.why)
		})
	}
}

// A write needs 10 s of the lease, and the leader's own term (SAFETY.md P1,
// RELATIONS.md P1).
func TestLeaderWrites(t *testing.T) {
	now := epoch()
	l := leadership.Leader{}.Claim(0, "a", now)
	assert.True(t, l.MayWrite("a", 1, now.Add(50*time.Second)))
	assert.False(t, l.MayWrite("a", 1, now.Add(50*time.Second+1)))
	assert.False(t, l.MayWrite("b", 1, now))
	next := l.Resign("a", now).Claim(1, "b", now)
	assert.Equal(t, 2, next.Term, "who resigns is followed at once")
	assert.False(t, next.MayWrite("a", 1, now))
	assert.False(t, next.MayWrite("b", 1, now), "the term of another")
	assert.Equal(t, next, next.Resign("a", now), "nobody resigns for another")
	assert.Zero(t, next.Left("a", now))
	assert.Equal(t, time.Minute, next.Left("b", now))
}

// Never two at once, and terms only rise, whoever asks when (SAFETY.md P1).
func TestOneLeaderAtATime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now, l := epoch(), leadership.Leader{}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 70).Draw(t, "seconds")) * time.Second)
			unit := rapid.IntRange(0, 2).Draw(t, "unit")
			pod := string(rune('a' + unit))
			before := l
			if rapid.IntRange(0, 5).Draw(t, "resigns") == 0 {
				l = l.Resign(pod, now)
			} else {
				l = l.Claim(unit, pod, now)
			}
			assert.GreaterOrEqual(t, l.Term, before.Term)
			if l.PodUID != before.PodUID {
				assert.False(t, before.MayWrite(before.PodUID, before.Term, now), "the one before can write no more")
				assert.Greater(t, l.Term, before.Term)
			}
		}
	})
}

// epoch is when every test begins.
func epoch() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }
