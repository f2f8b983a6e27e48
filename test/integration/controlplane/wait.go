package controlplane

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Eventually waits until a condition holds, and fails the test when it does not within the
// limit. It looks the less often the longer it waits: each look is work for the API server.
func Eventually(t testing.TB, holds func() bool, limit time.Duration, why ...any) {
	t.Helper()
	for begin := time.Now(); !holds(); {
		waited := time.Since(begin)
		if waited > limit {
			require.Fail(t, "did not come about within "+limit.String(), why...)
		}
		<-time.After(min(max(waited/5, 20*time.Millisecond), time.Second))
	}
}
