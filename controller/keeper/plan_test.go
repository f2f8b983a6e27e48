package keeper_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
)

// JOBS.md J17: a run that plans and succeeds leaves its plan beside the state, and never in it.
func TestPlanIsLeft(t *testing.T) {
	const write = `echo x > $STATE/.orcon-plan/plan; echo text > $STATE/.orcon-plan/plan.txt; `
	tests := map[string]struct {
		why, script string
		plans       bool
		left        bool
		says        string
	}{
		"Left":     {why: "both files", script: write, plans: true, left: true},
		"Failed":   {why: "nobody applies half a plan", script: write + "exit 1", plans: true},
		"Empty":    {why: "a run may leave none", script: "true", plans: true},
		"Other":    {why: "an action that plans nothing has no folder", script: `test ! -e $STATE/.orcon-plan`},
		"Unwanted": {why: "what another action writes there is no plan", script: `mkdir $STATE/.orcon-plan; ` + write},
		"Refused":  {why: "the reason is reported", script: `mkfifo $STATE/.orcon-plan/pipe`, plans: true, says: "cannot keep the plan"},
		"Link": {
			why: "the keeper of a node can read what is of other runs", plans: true, says: "cannot keep the plan",
			script: `mkdir $BASE/other; echo secret >$BASE/other/plan; rmdir $STATE/.orcon-plan; ln -s $BASE/other $STATE/.orcon-plan`,
		},
		"Pipe": {
			why: "nothing holds up the keeper", plans: true, says: "cannot keep the plan",
			script: `rmdir $STATE/.orcon-plan; mkfifo $STATE/.orcon-plan`,
		},
		"Removed": {why: "there is none then", script: `rmdir $STATE/.orcon-plan`, plans: true},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			b := newBench(t, tc.script)
			store := b.store(t)
			m := &model{next: hold()}
			m.next.Plans.Leave = tc.plans
			_, err := b.run(t, m, store, nil)
			require.NoError(t, err)
			e := only(t, m)
			assert.Equal(t, job.Unchanged, e.Outcome, tc.why)
			assert.Contains(t, e.Message, tc.says)
			require.Equal(t, tc.left, e.Plan != nil, tc.why)
			if tc.left {
				assert.True(t, strings.HasPrefix(e.Plan.Blob.Name, "plan-"), "by that prefix it is encrypted")
				text, err := os.ReadFile(filepath.Join(restored(t, store, *e.Plan), contract.PlanText))
				require.NoError(t, err)
				assert.Equal(t, "text\n", string(text))
			}
		})
	}
}

// JOBS.md J17: a run that applies a plan finds exactly that, and does not start if it cannot be fetched.
func TestPlanIsApplied(t *testing.T) {
	b := newBench(t, `test "$(cat $STATE/.orcon-plan/plan)" = saved && echo done > $STATE/done`)
	store := b.store(t)
	m := &model{next: hold()}
	m.next.Plans.Apply = seed(t, store, contract.PlanFile, "saved")
	m.fence = 1
	code, err := b.run(t, m, store, nil)
	require.NoError(t, err)
	assert.Zero(t, code)
	e := only(t, m)
	assert.Nil(t, e.Plan)
	entries, err := os.ReadDir(restored(t, store, *e.State))
	require.NoError(t, err)
	require.Len(t, entries, 1, "the plan is no state")

	b = newBench(t, "true")
	m = &model{next: hold()}
	m.next.Plans.Apply = &keeper.State{Digest: "sha256:x", Size: 1 << 10}
	m.next.Plans.Apply.Blob.Workspace, m.next.Plans.Apply.Blob.Fence, m.next.Plans.Apply.Blob.Name = "w", 1, "gone"
	code, err = b.run(t, m, b.store(t), nil)
	require.ErrorContains(t, err, "there is no such blob")
	assert.Equal(t, contract.Refused, code)
	assert.Equal(t, job.None, only(t, m).Outcome)
}
