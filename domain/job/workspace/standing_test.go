package workspace_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	. "gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace" //nolint:revive // the tests speak the words of the room
)

// Each phase has a condition that is true, an explanation, and a message with the command that helps.
func TestConditions(t *testing.T) {
	starting := must(t)(fresh.Acquire(Admission{Run: one, Now: start}))
	lost := must(t)(running(t).Lose(Evidence{Fence: 1, Vanished: true}))
	torn := fresh
	torn.State = Generation{Number: 3, Exit: job.Exit{Cause: job.Killed}}
	tests := map[Phase]struct {
		from   Workspace
		extent Extent
		want   condition.Type
		says   string
	}{
		Ready:         {fresh, Extent{}, condition.Ready, "generation 0 is current"},
		Starting:      {starting, Extent{}, condition.Reconciling, "orcon job cancel shop/one"},
		Running:       {running(t), Extent{}, condition.Reconciling, "on node-a"},
		NeedsRecovery: {lost, Extent{}, condition.Stalled, "orcon job unlock shop/db"},
		NeedsAccept:   {torn, Extent{}, condition.Stalled, "`orcon job state accept shop/db --because TEXT` or `orcon job state rollback shop/db --because TEXT`"},
		StoreAhead:    {running(t), Extent{Fence: 9}, condition.Stalled, "--store newest"},
	}
	for phase, tc := range tests {
		t.Run(string(phase), func(t *testing.T) {
			all := Conditions(tc.from, tc.extent)
			why := condition.Why(all)
			assert.Equal(t, string(phase), why.Reason)
			assert.Contains(t, why.Message, tc.says)
			for _, c := range all {
				assert.Equal(t, c.Type == tc.want, c.True, c.Type)
			}
			assert.True(t, slices.ContainsFunc(Meanings(), func(m condition.Meaning) bool {
				return m.Type == tc.want && m.Reason == string(phase)
			}))
		})
	}
	assert.True(t, slices.ContainsFunc(Meanings(), func(m condition.Meaning) bool {
		return m.Type == condition.Stalled && m.Reason == condition.Why(Unreadable(errors.New("spec"))).Reason
	}))
	assert.Len(t, Meanings(), len(tests)+2)
}

// JOBS.md J17: a Workspace whose runs need an approval shows the plan that waits for one, while it may be applied.
func TestPlanWaits(t *testing.T) {
	gated := fresh
	gated.Terms.Approval = true
	gated.Plan = Plan{Blob: Blob{Digest: "sha256:a"}, Run: Run{UID: "p", Name: "db-plan"}}
	with := func(change func(*Workspace)) Workspace {
		w := gated
		change(&w)
		return w
	}
	for label, tc := range map[string]struct {
		why    string
		from   Workspace
		reason string
	}{
		"Waits":   {"it is the newest one, for the current state", gated, "WaitingForApproval"},
		"None":    {"there is no plan", with(func(w *Workspace) { w.Plan = Plan{} }), "Ready"},
		"Applied": {"a plan is applied once", with(func(w *Workspace) { w.Plan.Applied = one }), "Ready"},
		"Void":    {"another run has changed the state", with(func(w *Workspace) { w.State.Number = 1 }), "Ready"},
		"Free":    {"runs need no approval: the plan was made to be read", with(func(w *Workspace) { w.Terms.Approval = false }), "Ready"},
	} {
		t.Run(label, func(t *testing.T) {
			ready, _ := condition.Find(Conditions(tc.from, Extent{}), condition.Ready)
			assert.True(t, ready.True, "the next run may start")
			assert.Equal(t, tc.reason, ready.Reason, tc.why)
			if tc.reason != "Ready" {
				assert.Contains(t, ready.Message, "JobRun db-plan")
				assert.Contains(t, ready.Message, "`orcon job approve shop/db-plan`")
			}
		})
	}
}
