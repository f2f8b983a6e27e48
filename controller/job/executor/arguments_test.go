package executor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
)

// JOBS.md J15: an attempt has its settings by the same arguments in each place; those that it does not name are defaults.
func TestArguments(t *testing.T) {
	a := executor.Attempt{Timing: job.Timing{Grace: time.Minute}}
	assert.Empty(t, a.KeeperArguments())
	assert.Equal(t, []string{"--grace=1m0s"}, a.ShimArguments())
	a.Settings = executor.Settings{Limit: 5, Checkpoint: time.Second}
	a.Hold, a.Input.Files = time.Hour, run.Files{Exclude: []string{".terraform/", "$a"}, Rescue: []string{"errored.tfstate"}}
	assert.Equal(t, []string{"--limit=5", "--checkpoint=1s", "--exclude=.terraform/", "--exclude=$a"}, a.KeeperArguments())
	assert.Equal(t, []string{"--grace=1m0s", "--hold=1h0m0s", "--rescue=errored.tfstate"}, a.ShimArguments())
}
