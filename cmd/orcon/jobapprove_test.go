package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// plan has run web-1 leave a plan, and returns its digest.
func (j *jobCluster) plan(t *testing.T, files map[string]string) string {
	t.Helper()
	j.push(t, files) // packs them: the archive of a plan has the form of that of a state
	made := j.World.Workspace("w").State
	key, err := blob.ParseKey(made.Key)
	require.NoError(t, err)
	j.add("web-1", time.Minute, func(r *v1alpha1.JobRun) {
		r.Spec.Action, r.Status.Fence = "plan", key.Fence
		end(r, "Succeeded", "its plan waits", nil)
	})
	j.change(t, func(w workspace.Workspace) (workspace.Workspace, error) {
		w.Plan = workspace.Plan{Blob: made.Blob, Run: workspace.Run{UID: "r", Name: "web-1"}, Generation: w.State.Number}
		return w, nil
	})
	return made.Digest
}

// JOBS.md J17: what is approved is shown before, and the approval names its digest and its author.
func TestJobApprove(t *testing.T) {
	j := newJobCluster(t)
	digest := j.plan(t, map[string]string{"plan.txt": "1 to add, 0 to destroy\n"})
	_, out, errs := j.call("", "plan", "web-1")
	assert.Equal(t, "1 to add, 0 to destroy\n", out)
	assert.Contains(t, errs, "plan "+digest[7:19]+" of JobRun shop/web-1, for generation 1 of JobWorkspace web")
	_, out, _ = j.call("", "plan", "web-1", "-o", "json")
	assert.Contains(t, out, `"digest": "`+digest+`"`)

	code, _, errs := j.call("n\n", "approve", "web-1")
	assert.Equal(t, exitMisuse, code, errs)
	assert.Empty(t, j.approvals)
	code, out, errs = j.call("y\n", "approve", "web-1", "--digest", digest[7:19])
	require.Zero(t, code, errs)
	assert.Contains(t, out, "1 to add, 0 to destroy\n")
	assert.Contains(t, out, "ann approves plan "+digest[7:19]+" of JobRun shop/web-1: JobApproval web-1-1; orcon job runs web -n shop shows the JobRun that applies it")
	require.Len(t, j.approvals, 1)
	assert.Equal(t, v1alpha1.JobApprovalSpec{Run: "web-1", PlanDigest: digest, Author: "ann"}, j.approvals[0].Spec)
}

// What the template of a plan wrote may not steer the terminal of those who approve it: a line that takes the place of
// another one would hide what is applied (JOBS.md J17, TRUST.md R2).
func TestJobPlanHidesNothingOnATerminal(t *testing.T) {
	var out, errs bytes.Buffer
	p := people.RunPlan{Namespace: "shop", Run: "web-1", Workspace: "web", Digest: "sha256:0f3a9c27b1d4", Text: "- database\x1b[2K\r+ a tag\n"}
	require.NoError(t, printJobPlan(screen{out: &out, errs: &errs, width: 80}, p))
	assert.Equal(t, "- database[2K+ a tag\n", out.String())
}

// What cannot be applied is not approved, and the error has the cure.
func TestJobApproveRefused(t *testing.T) {
	j := newJobCluster(t)
	j.add("web-2", time.Minute, func(r *v1alpha1.JobRun) { r.Status.Fence = 9; end(r, "Succeeded", "", nil) })
	j.add("web-3", time.Minute, func(r *v1alpha1.JobRun) { r.Status.Fence = 9 })
	_, _, errs := j.call("", "approve", "web-2", "--yes")
	assert.Contains(t, errs, "cannot read the plan of JobRun shop/web-2: there is no such object: it left none")
	_, _, errs = j.call("", "approve", "web-3", "--yes")
	assert.Contains(t, errs, "the run has not ended")
	digest := j.plan(t, map[string]string{"a": "b"})
	_, out, _ := j.call("", "plan", "web-1")
	assert.Contains(t, out, "the template wrote no text of the plan: orcon job logs web-1 -n shop has its output")
	for given, says := range map[string]string{
		strings.Repeat("0", 64): "JobRun shop/web-1 has left plan " + digest[7:19] + ", not 000",
		"0123":                  `--digest "0123" has less than 12 digits`,
	} {
		code, _, errs := j.call("", "approve", "web-1", "--yes", "--digest", given)
		assert.Equal(t, exitMisuse, code)
		assert.Contains(t, errs, says)
	}
	j.change(t, func(w workspace.Workspace) (workspace.Workspace, error) {
		w.Plan.Generation = 0
		return w, nil
	})
	_, out, errs = j.call("", "plan", "web-1")
	assert.Contains(t, out+errs, "it cannot be applied: the plan is void")
	_, _, errs = j.call("", "approve", "web-1", "--yes")
	assert.Contains(t, errs, "cannot approve the plan of JobRun shop/web-1: the plan is void: it was made for generation 0 of the state, and 1 is current")
	j.workspace.Spec.Approval = v1alpha1.ApprovalPlan
	_, _, errs = j.call("", "run", "web", "--action", "deploy")
	assert.Contains(t, errs, "it needs the approval of a plan: make one with `orcon job run shop/web --action plan`")
	assert.Empty(t, j.approvals)
}
