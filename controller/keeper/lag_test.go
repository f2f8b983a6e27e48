package keeper

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/log"
)

// JOBS.md J11: a run of days has fewer chunks than are stored, though its output comes in drops.
func TestLag(t *testing.T) {
	chunks := 0
	for passed := time.Duration(0); passed < 7*24*time.Hour; passed += lag(passed) {
		chunks++
	}
	assert.Less(t, chunks, log.MaxChunks)
	assert.Equal(t, carryEvery, lag(time.Minute))
}
