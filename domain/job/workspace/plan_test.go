package workspace_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	. "gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace" //nolint:revive // the tests speak the words of the room
)

// planned returns a Workspace whose Run one has left a plan for generation 0, and the end that left it.
func planned(t *testing.T) (Workspace, Capture) {
	t.Helper()
	end := Capture{Run: one, Fence: 1, Outcome: job.Unchanged, Plan: Plan{Blob: blob(1, "plan"), Input: "sha256:input"}}
	w, outcome, err := running(t).End(end)
	require.NoError(t, err)
	require.Equal(t, job.Unchanged, outcome)
	return w, end
}

// JOBS.md J17: a plan is stored by the write that ends its run, and is for the state that is current then.
func TestPlan(t *testing.T) {
	w, end := planned(t)
	assert.Equal(t, Plan{Blob: blob(1, "plan"), Run: one, Input: "sha256:input"}, w.Plan)
	assert.True(t, w.Names("k-plan"))
	again, _, err := w.End(end)
	require.NoError(t, err)
	assert.Equal(t, w, again, "J8")
	end.Outcome, end.Blob = job.Committed, blob(1, "a")
	w, _, err = running(t).End(end)
	require.NoError(t, err)
	assert.Equal(t, int64(1), w.Plan.Generation, "what its own run committed does not void it")
	end.Exit = job.Exit{Code: 1}
	w, _, err = running(t).End(end)
	require.NoError(t, err)
	assert.Empty(t, w.Plan, "a run that failed leaves none")
	for _, wrong := range []Plan{
		{Blob: Blob{Key: "k", Fence: 1}, Input: "i"}, {Blob: blob(2, "plan"), Input: "i"}, {Blob: blob(1, "plan")},
	} {
		end.Plan = wrong
		_, _, err = running(t).End(end)
		require.ErrorIs(t, err, ErrInvalid)
	}
}

// JOBS.md J17: a plan is applied once, to the state that it was made for.
func TestApply(t *testing.T) {
	w, _ := planned(t)
	apply := func(w Workspace, r Run, digest string) (Workspace, error) {
		return w.Acquire(Admission{Run: r, Plan: digest, Published: w.Last.Fence, Now: start})
	}
	applied := must(t)(apply(w, two, "plan"))
	assert.Equal(t, two, applied.Plan.Applied)
	assert.Equal(t, applied, must(t)(apply(applied, two, "plan")), "J8")
	withdrawn := must(t)(applied.Withdraw(two, ""))
	assert.Empty(t, withdrawn.Plan.Applied, "nothing was applied")
	claimed := must(t)(applied.Claim(Start{Run: two, Attempt: 1, Claimant: first}))
	failed, _, err := claimed.End(Capture{Run: two, Fence: 2, Outcome: job.Unchanged, Exit: job.Exit{Code: 1}})
	require.NoError(t, err)
	moved := must(t)(w.Acquire(Admission{Run: two, Published: 1}))
	moved = must(t)(moved.Claim(Start{Run: two, Attempt: 1, Claimant: first}))
	moved, _, err = moved.End(Capture{Run: two, Fence: 2, Outcome: job.Committed, Blob: blob(2, "b")})
	require.NoError(t, err)
	three := Run{UID: "3", Name: "three"}
	for label, tc := range map[string]struct {
		why, digest string
		from        Workspace
		is          error
		says        string
	}{
		"None":    {why: "nothing was planned", from: fresh, digest: "plan", is: ErrReplaced, says: "shop/db has no plan: make one with `orcon job run shop/db --action plan`"},
		"Other":   {why: "another plan is newer", from: w, digest: "old", is: ErrReplaced, says: "Run one has made a newer one: `orcon job approve shop/one`"},
		"Applied": {why: "who knows how far it came", from: failed, digest: "plan", is: ErrReplaced, says: "Run two was admitted to apply it"},
		"Moved":   {why: "another run changed the state", from: moved, digest: "plan", is: ErrVoid, says: "it was made for generation 0 of the state, and 1 is current"},
	} {
		t.Run(label, func(t *testing.T) {
			next, err := apply(tc.from, three, tc.digest)
			require.ErrorIs(t, err, tc.is, tc.why)
			assert.ErrorContains(t, err, tc.says)
			assert.Equal(t, tc.from, next)
		})
	}
}
