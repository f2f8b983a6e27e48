package check_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/check"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// A schedule is that of cron, in UTC; what cannot be meant is refused with the cure.
func TestSchedule(t *testing.T) {
	last := time.Date(2026, 3, 1, 3, 30, 0, 0, time.FixedZone("here", 3600))
	for text, want := range map[string]string{"0 3 * * *": "2026-03-01T03:00:00Z", "@every 6h": "2026-03-01T08:30:00Z", "@daily": "2026-03-02T00:00:00Z", "* * * * *": "2026-03-01T02:31:00Z"} {
		s, err := check.ParseSchedule(text)
		require.NoError(t, err)
		assert.Equal(t, want, s.After(last).Format(time.RFC3339), text)
	}
	for text, says := range map[string]string{
		"3 o'clock": "write minute, hour, day, month and weekday", "0 3 * * * *": "write minute", "TZ=Europe/Brussels 0 3 * * *": "leave the time zone out",
		"0 0 31 2 *": "there is no such day", "@every 1s": "a minute apart", "": "write minute",
	} {
		_, err := check.ParseSchedule(text)
		require.ErrorContains(t, err, says, text)
	}
}

// The condition is true only where a check has seen a difference from the state as it is now.
func TestDrift(t *testing.T) {
	at := func(fence int64) workspace.Workspace {
		return workspace.Workspace{State: workspace.Generation{Number: 3, Blob: workspace.Blob{Fence: fence}}}
	}
	tests := map[string]struct {
		why  string
		last check.Last
		w    workspace.Workspace
		want string
	}{
		"Never":      {why: "it may be new", want: check.Unchecked},
		"Drifted":    {why: "as tofu plan -detailed-exitcode reports it", last: check.Last{Run: "a", Fence: 5, Exit: job.Exit{Code: 2}}, w: at(4), want: check.Drifted},
		"InSync":     {why: "nothing differs", last: check.Last{Run: "a", Fence: 5}, w: at(4), want: check.InSync},
		"Own":        {why: "a check may commit itself", last: check.Last{Run: "a", Fence: 5, Exit: job.Exit{Code: 2}}, w: at(5), want: check.Drifted},
		"Since":      {why: "a run has changed it", last: check.Last{Run: "a", Fence: 5, Exit: job.Exit{Code: 2}}, w: at(6), want: check.Unchecked},
		"Error":      {why: "an error is no difference", last: check.Last{Run: "a", Fence: 5, Exit: job.Exit{Code: 1}}, w: at(4), want: check.Failed},
		"Killed":     {why: "nor is a kill", last: check.Last{Run: "a", Fence: 5, Exit: job.Exit{Code: 2, Cause: job.Killed}}, w: at(4), want: check.Failed},
		"NotStarted": {why: "the template has no such action", last: check.Last{Run: "a", Exit: job.Exit{Cause: job.NotStarted}}, w: at(4), want: check.Failed},
	}
	explained := map[string]bool{}
	for _, m := range check.Meanings() {
		explained[m.Reason] = true
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			got := tc.last.Condition(tc.w)
			assert.Equal(t, tc.want, got.Reason, tc.why)
			assert.Equal(t, tc.want == check.Drifted, got.True)
			assert.Equal(t, condition.Drifted, got.Type)
			assert.True(t, explained[got.Reason])
		})
	}
	w := workspace.Workspace{Name: "shop/db"}
	for _, code := range []int{1, 2} {
		assert.Contains(t, check.Last{Run: "a", Fence: 5, Exit: job.Exit{Code: code}}.Condition(w).Message, "`orcon job logs shop/a`")
	}
	assert.True(t, explained[check.Invalid(assert.AnError).Reason])
}

// No text makes the parser fail otherwise than by an error, and checks are a minute apart.
func FuzzSchedule(f *testing.F) {
	f.Add("0 3 * * *", int64(0))
	f.Add("@every 1h30m", int64(1)<<31)
	f.Add("1-5/2 0 1,15 */3 MON-FRI", int64(5))
	f.Fuzz(func(t *testing.T, text string, at int64) {
		s, err := check.ParseSchedule(text)
		if err != nil || at < 0 || at > 1<<40 {
			return
		}
		last := time.Unix(at, 0)
		if next := s.After(last); !next.IsZero() {
			require.True(t, next.After(last))
		}
	})
}
