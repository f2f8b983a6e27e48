package job_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
)

// JOBS.md J12: an orphan has at most eight times the size of a state, and fits into the store.
func TestMaxOrphan(t *testing.T) {
	for limit, want := range map[int64]int64{1 << 20: 8 << 20, 64 << 20: 512 << 20, 65 << 20: 512 << 20, 512 << 20: 512 << 20} {
		assert.Equal(t, want, job.MaxOrphan(limit), limit)
	}
}
