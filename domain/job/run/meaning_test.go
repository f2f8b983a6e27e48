package run_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// explained reports whether the reason of conditions stands in a table, with the condition that is true.
func explained(all []condition.Condition, meanings []condition.Meaning) bool {
	return slices.ContainsFunc(meanings, func(m condition.Meaning) bool {
		c, _ := condition.Find(all, m.Type)
		return c.True && c.Reason == m.Reason
	})
}

// A Run that ends without the lock is explained too.
func TestUnstartedIsExplained(t *testing.T) {
	held := workspace.Workspace{Lock: workspace.Lock{Run: one, Fence: 1}}
	for policy, reason := range map[job.Concurrency]string{job.Reject: "Rejected", job.SupersedeQueued: "Superseded"} {
		ranks := run.Queue(policy, held, []run.Waiting{waiting("a", 1, false), waiting("b", 2, false)})
		assert.Equal(t, reason, ranks[0].Ended.Reason)
		assert.True(t, explained(ranks[0].Ended.Conditions(), run.Meanings()), reason)
	}
}

// A Run needs a person when it has not succeeded, does not start, or is lost and its lock does not expire.
func TestConditions(t *testing.T) {
	tests := map[string]struct {
		status run.Status
		want   condition.Type
	}{
		"Succeeded":   {run.Status{Phase: run.Succeeded, Reason: "Succeeded", Outcome: job.Committed}, condition.Ready},
		"Running":     {run.Status{Phase: run.Running, Reason: "Running"}, condition.Reconciling},
		"CannotStart": {run.Status{Phase: run.Starting, Reason: "CannotStart"}, condition.Stalled},
		"Lost":        {run.Status{Phase: run.Lost, Reason: "Silent"}, condition.Stalled},
		"Expiring":    {run.Status{Phase: run.Lost, Reason: "Expiring"}, condition.Reconciling},
		"Failed":      {run.Status{Phase: run.Failed, Reason: "Failed", Outcome: job.Unchanged}, condition.Stalled},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			for _, c := range tc.status.Conditions() {
				assert.Equal(t, c.Type == tc.want, c.True, c.Type)
			}
		})
	}
}
