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
