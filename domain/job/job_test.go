package job_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
)

// Attempts that never begin are replaced ever less often.
func TestPause(t *testing.T) {
	assert.Equal(t, 5*time.Second, job.Pause(1))
	assert.Equal(t, 40*time.Second, job.Pause(4))
	assert.Equal(t, 5*time.Minute, job.Pause(7))
	assert.Equal(t, 5*time.Minute, job.Pause(1<<30))
}

// A lock is released by the write of an outcome after which nothing is lost (JOBS.md J6).
func TestReleases(t *testing.T) {
	var releasing []job.Outcome
	for _, o := range job.Outcomes() {
		if o.Releases() {
			releasing = append(releasing, o)
		}
	}
	assert.Equal(t, []job.Outcome{job.None, job.Unchanged, job.Committed}, releasing)
	assert.False(t, job.Outcome("").Releases())
}

// Words have a default, and a misspelt one a suggestion.
func TestParse(t *testing.T) {
	s, err := job.ParseSafety("")
	require.NoError(t, err)
	assert.Equal(t, job.Exclusive, s)
	c, err := job.ParseConcurrency("Reject")
	require.NoError(t, err)
	assert.Equal(t, job.Reject, c)
	c, err = job.ParseConcurrency("")
	require.NoError(t, err)
	assert.Equal(t, job.Queue, c)
	_, err = job.ParseSafety("idempotnt")
	require.EqualError(t, err, `cannot use safety "idempotnt": did you mean "idempotent"?`)
	_, err = job.ParseConcurrency("CancelRunning")
	require.EqualError(t, err, `cannot use concurrency "CancelRunning": use one of Queue, Reject, SupersedeQueued`)
}

// An exit says whether the files may be half written.
func TestExit(t *testing.T) {
	assert.True(t, job.Exit{}.Success())
	assert.False(t, job.Exit{Code: 1}.Success())
	assert.True(t, job.Exit{Cause: job.Killed}.Torn() && job.Exit{Cause: job.OutOfMemory}.Torn())
	assert.False(t, job.Exit{Code: 143}.Torn() || job.Exit{Cause: job.NotStarted}.Torn())
	assert.Equal(t, "exit code 3", job.Exit{Code: 3}.String())
	assert.Equal(t, "Killed", job.Exit{Code: 137, Cause: job.Killed}.String())
}

// Signals are due in their order, exactly at their times (JOBS.md J7).
func TestSignals(t *testing.T) {
	timing := job.DefaultTiming()
	tests := map[string]struct {
		safety job.Safety
		passed time.Duration
		want   job.Signal
		next   time.Duration
	}{
		"Early":     {job.Idempotent, 59 * time.Second, "", time.Second},
		"Lost":      {job.Idempotent, time.Minute, job.Terminate, 2 * time.Minute},
		"Grace":     {job.ReadOnly, 179 * time.Second, job.Terminate, time.Second},
		"Kill":      {job.ReadOnly, 3 * time.Minute, job.Kill, 0},
		"Exclusive": {job.Exclusive, time.Hour, "", 0},
		"Default":   {"", time.Hour, "", 0},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			signal, next := timing.Unacknowledged(tc.safety, tc.passed)
			assert.Equal(t, tc.want, signal)
			assert.Equal(t, tc.next, next)
		})
	}
	signal, next := timing.Cancelled(0)
	assert.Equal(t, job.Terminate, signal)
	assert.Equal(t, timing.Grace, next)
	signal, _ = timing.Cancelled(timing.Grace)
	assert.Equal(t, job.Kill, signal)
}

// Whatever the times are, a holder without answers has killed its process before the lock may expire, with the whole
// margin to spare.
func TestHolderStopsFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		timing := job.Timing{
			Lost:  time.Duration(rapid.IntRange(1, 1000).Draw(t, "lost")) * time.Second,
			Grace: time.Duration(rapid.IntRange(0, 1000).Draw(t, "grace")) * time.Second,
		}
		signal, _ := timing.Unacknowledged(job.Idempotent, timing.Takeover()-job.Margin)
		assert.Equal(t, job.Kill, signal)
	})
}

// Only newer renewals of the watched claim prove life, however often the others come (JOBS.md J8).
func TestWatch(t *testing.T) {
	w := job.NewWatch(3, "pod", 10)
	assert.True(t, w.Follows(3, "pod"))
	assert.False(t, w.Follows(3, "") || w.Follows(2, "pod"))
	assert.Equal(t, time.Duration(5), w.Silence(15))
	w = w.Receive(3, 2, 20)
	assert.Equal(t, time.Duration(1), w.Silence(21))
	for _, late := range []job.Watch{w.Receive(3, 2, 30), w.Receive(3, 1, 30), w.Receive(2, 9, 30)} {
		assert.Equal(t, w, late)
	}
}
