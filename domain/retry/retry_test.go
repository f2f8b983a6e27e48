package retry_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/retry"
)

// A handler that goes on failing is called less and less often, and never not at
// all.
func TestAfter(t *testing.T) {
	for attempts, want := range map[int]time.Duration{
		0: time.Second, 1: time.Second, 2: 2 * time.Second, 5: 16 * time.Second, 9: 256 * time.Second, 10: 5 * time.Minute, 1 << 40: 5 * time.Minute,
	} {
		assert.Equal(t, want, retry.After(attempts), "%d", attempts)
	}
}

// A failure that is repeated is logged at first, and then once a minute; another one at once.
func TestLog(t *testing.T) {
	const refused, unknown = "refused at 12:00:00 by port 80", "unknown"
	start := time.Unix(1e9, 0)
	var l retry.Log
	for _, tc := range []struct {
		why     string
		failure string
		after   time.Duration
		logged  bool
	}{
		{"the first one", refused, 0, true},
		{"the same", refused, time.Second, false},
		{"other numbers", "refused at 12:00:59 by port 8080", 59 * time.Second, false},
		{"a minute later", refused, time.Minute, true},
		{"the minute begins anew", refused, 119 * time.Second, false},
		{"another one", unknown, 119 * time.Second, true},
		{"the one before", refused, 119 * time.Second, true},
	} {
		next, logged := l.Failed(tc.failure, start.Add(tc.after))
		assert.Equal(t, tc.logged, logged, tc.why)
		l = next
	}
}
