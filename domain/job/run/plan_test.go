package run_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/program"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// planning returns the input of a Run that plans, and its digest.
func planning(t testing.TB, action string) (run.Input, string) {
	t.Helper()
	version := program.TemplateVersion{Name: "network", Actions: map[string]run.Action{
		"plan": {Entrypoint: []string{"plan"}}, "deploy": {Entrypoint: []string{"apply"}, Args: []string{"x"}},
		"plan-destroy": {Entrypoint: []string{"plan", "-destroy"}}, "destroy": {Entrypoint: []string{"destroy"}},
		"plan-none": {Entrypoint: []string{"plan"}},
	}}
	i, err := version.Freeze(action, map[string]any{"a": "b"}, nil)
	require.NoError(t, err)
	digest, err := i.Digest()
	require.NoError(t, err)
	return i, digest
}

// Each action has one that plans it, and no action plans a plan.
func TestPlanned(t *testing.T) {
	for action, want := range map[string]string{"plan": "deploy", "plan-destroy": "destroy", "deploy": "", "check": "", "planet": ""} {
		assert.Equal(t, want, run.Planned(action), action)
		assert.Equal(t, want != "" || action == "check", run.Ungated(action), action)
		if want != "" {
			assert.Equal(t, action, run.Planner(want))
		}
	}
	require.ErrorContains(t, run.Unapproved("destroy", "shop/db"), "`orcon job run shop/db --action plan-destroy`, look at it, then `orcon job approve RUN`")
}

// JOBS.md J17: a Run applies exactly the plan that was approved, by the command of the action that was planned.
func TestApply(t *testing.T) {
	fresh, digest := planning(t, "plan-destroy")
	assert.True(t, fresh.Plans())
	none, _ := planning(t, "plan-none")
	assert.False(t, none.Plans(), "there is no action none")
	plan := workspace.Plan{Blob: workspace.Blob{Digest: "sha256:p", Key: "k", Fence: 1}, Run: one, Input: digest}
	w := workspace.Workspace{Name: "shop/db", Plan: plan}
	good := run.Application{Plan: "one", By: two, Approved: []string{"sha256:p"}, Fresh: fresh}
	got, err := good.Apply(w)
	require.NoError(t, err)
	assert.Equal(t, []string{"destroy"}, got.Entrypoint)
	assert.Equal(t, "destroy", got.Action)
	assert.Equal(t, "sha256:p", got.Plan)
	assert.False(t, got.Plans())
	assert.Equal(t, map[string]any{"a": "b"}, got.Parameters)
	tests := map[string]struct {
		change func(*run.Application, *workspace.Workspace)
		is     error
		says   string
	}{
		"Unapproved": {func(a *run.Application, _ *workspace.Workspace) { a.Approved = []string{"sha256:q"} }, run.ErrUnapproved, "`orcon job approve shop/one`"},
		"Replaced":   {func(a *run.Application, _ *workspace.Workspace) { a.Plan = "zero" }, workspace.ErrReplaced, "Run one has made a newer one"},
		"None":       {func(_ *run.Application, w *workspace.Workspace) { w.Plan = workspace.Plan{} }, workspace.ErrReplaced, "shop/db has no plan"},
		"Applied":    {func(_ *run.Application, w *workspace.Workspace) { w.Plan.Applied = one }, workspace.ErrReplaced, "was admitted to apply it"},
		"State":      {func(_ *run.Application, w *workspace.Workspace) { w.State.Number = 1 }, workspace.ErrVoid, "generation 0 of the state, and 1 is current"},
		"Input":      {func(a *run.Application, _ *workspace.Workspace) { a.Fresh.Image = "x" }, workspace.ErrVoid, "template, parameters or secrets have changed"},
		"Command":    {func(a *run.Application, _ *workspace.Workspace) { a.Fresh.Planned.Args = []string{"x"} }, workspace.ErrVoid, "have changed"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			a, changed := good, w
			tc.change(&a, &changed)
			_, err := a.Apply(changed)
			require.ErrorIs(t, err, tc.is)
			require.ErrorContains(t, err, tc.says)
		})
	}
}

// A Run that has planned shows the commands that help, and one whose plan is void the Run that plans again.
func TestPlanIsShown(t *testing.T) {
	w := workspace.Workspace{
		Name: "shop/db", Last: workspace.Ended{Run: one, Fence: 1, Outcome: job.Unchanged}, Plan: workspace.Plan{Run: one},
	}
	s := run.Derive(run.Facts{Run: one}, w)
	assert.Equal(t, run.Succeeded, s.Phase)
	assert.Equal(t, "its plan waits: `orcon job plan shop/one` shows it, `orcon job approve shop/one` has it applied; its state is unchanged", s.Message)
	void := run.PlanChanged(workspace.ErrVoid, "shop", "two")
	assert.Contains(t, void.Message, "JobRun two plans again: `orcon job approve shop/two`")
	for _, shown := range []run.Status{s, void} {
		assert.True(t, explained(shown.Conditions(), run.Meanings()), shown.Reason)
	}
}

// Whatever a Workspace has, nothing is applied but an approved plan for its state and its input (JOBS.md J17).
func FuzzApply(f *testing.F) {
	fresh, digest := planning(f, "plan")
	f.Add("sha256:p", "sha256:p", digest, "one", "", int64(3), int64(3))
	f.Add("sha256:p", "sha256:q", "", "two", "2", int64(3), int64(4))
	f.Fuzz(func(t *testing.T, plan, approved, input, name, applied string, generation, current int64) {
		w := workspace.Workspace{State: workspace.Generation{Number: current}, Plan: workspace.Plan{
			Blob: workspace.Blob{Digest: plan}, Run: workspace.Run{UID: "1", Name: name}, Input: input, Generation: generation,
			Applied: workspace.Run{UID: applied},
		}}
		got, err := run.Application{Plan: "one", By: two, Approved: []string{approved}, Fresh: fresh}.Apply(w)
		if err != nil {
			return
		}
		require.Equal(t, []any{plan, plan, "one", digest, generation, ""}, []any{approved, got.Plan, name, input, current, applied})
		require.NotEmpty(t, plan)
	})
}
