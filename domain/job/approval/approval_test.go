package approval_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/approval"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// An approval counts for the plan of the Run that it names, and its condition has what helps otherwise (JOBS.md J17).
func TestJudge(t *testing.T) {
	one, two := workspace.Run{UID: "1", Name: "one"}, workspace.Run{UID: "2", Name: "two"}
	plan := func(digest string, by, applied workspace.Run) workspace.Workspace {
		return workspace.Workspace{Name: "shop/db", Plan: workspace.Plan{Blob: workspace.Blob{Digest: digest}, Run: by, Applied: applied}}
	}
	const digest, other = "sha256:0123456789abcdef", "sha256:fedcba9876543210"
	none := workspace.Run{}
	moved := plan(digest, one, none)
	moved.State.Number = 1
	tests := map[string]struct {
		why, by string
		subject approval.Subject
		want    approval.Reason
		says    string
	}{
		"Good":     {subject: approval.Subject{Run: one, Ended: true, Workspace: plan(digest, one, none)}, want: approval.Approved, says: "applies plan 0123456789ab"},
		"Carried":  {why: "what it led to stays", by: "two", subject: approval.Subject{}, want: approval.Approved, says: "`orcon job logs shop/two -f`"},
		"Void":     {why: "the Run has another one made", subject: approval.Subject{Run: one, Ended: true, Workspace: moved}, want: approval.Approved},
		"Early":    {subject: approval.Subject{Run: one, Workspace: plan("", none, none)}, want: approval.NotPlanned, says: "JobRun one has not ended"},
		"Gone":     {subject: approval.Subject{Workspace: plan(digest, one, none)}, want: approval.NoRun, says: "there is no JobRun one, so that its plan cannot be applied: `orcon job runs -n shop` lists those that there are"},
		"NoPlan":   {subject: approval.Subject{Run: one, Ended: true, Workspace: plan("", none, none)}, want: approval.OtherPlan, says: "shop/db has no plan"},
		"Foreign":  {subject: approval.Subject{Run: one, Ended: true, Workspace: plan(digest, two, none)}, want: approval.OtherPlan, says: "that of Run two, not of JobRun one: `orcon job approve shop/two`"},
		"Wrong":    {subject: approval.Subject{Run: one, Ended: true, Workspace: plan(other, one, none)}, want: approval.OtherPlan, says: "has left plan fedcba987654, not 0123456789ab: look at it with `orcon job plan shop/one`, then `orcon job approve shop/one`"},
		"Replaced": {subject: approval.Subject{Run: one, Ended: true, Workspace: plan(other, two, none)}, want: approval.OtherPlan, says: "Run two has made a newer one: `orcon job approve shop/two`"},
		"Second":   {subject: approval.Subject{Run: one, Ended: true, Workspace: plan(digest, one, two)}, want: approval.OtherPlan, says: "Run two was admitted to apply it"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			got := approval.Approval{Namespace: "shop", Run: "one", Digest: digest, By: tc.by}.Judge(tc.subject)
			assert.Equal(t, tc.want, got.Reason, tc.why)
			assert.Contains(t, got.Message, tc.says)
			assert.True(t, slices.ContainsFunc(approval.Meanings(), func(m condition.Meaning) bool {
				c, _ := condition.Find(got.Conditions(), m.Type)
				return c.True && c.Reason == m.Reason
			}))
		})
	}
}

// A digest of any text has a beginning.
func FuzzShort(f *testing.F) {
	f.Add("sha256:0123456789abcdef")
	f.Add("x")
	f.Fuzz(func(t *testing.T, digest string) { assert.LessOrEqual(t, len([]rune(approval.Short(digest))), 12) })
}
