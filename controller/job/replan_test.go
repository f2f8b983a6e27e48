package job

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// JOBS.md J17: an approval counts for the plan of the Run that it names. Another Run that leaves the same plan for another
// state, while the Run that applies the first one waits, needs its own.
func TestSamePlanOfAnotherRun(t *testing.T) {
	w, r := planned(t)
	w.plan("newer")
	w.approve(planDigest)
	w.applies("apply", "plan")
	w.pass(r, 0)
	require.Contains(t, w.of("apply"), "Reconciling Waiting")
	w.claim()
	p, input := w.current(), w.get("newer").State.Input.Digest
	w.swap(func(now workspace.Workspace) (workspace.Workspace, error) {
		next, _, err := now.End(workspace.Capture{
			Run: now.Lock.Run, Fence: now.Lock.Fence, Base: now.Lock.Base, Outcome: job.Committed, Now: w.now,
			Blob: workspace.Blob{Digest: "sha256:1", Key: "k/1", Fence: now.Lock.Fence},
			Plan: workspace.Plan{Blob: workspace.Blob{Digest: planDigest, Key: "k/plan", Fence: now.Lock.Fence}, Input: input},
		})
		return next, err
	})
	p.Over = true
	w.pass(r, 0)
	assert.Empty(t, w.workspace().State.Lock, "nobody has approved a plan for generation 1")
	assert.Contains(t, w.of("apply"), "Stalled Refused: cannot apply the plan of Run plan: it is not the plan that waits: "+
		"Run newer has made a newer one: `orcon job approve shop/newer`")
	assert.Empty(t, w.workspace().State.Plan.Applied)
}

// JOBS.md J17: an approval that goes with a Run counts for no Run that was made anew under its name.
func TestApprovalOfAnEarlierRun(t *testing.T) {
	w, r := planned(t)
	w.create(&v1alpha1.JobApproval{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "old", OwnerReferences: []metav1.OwnerReference{
			{APIVersion: v1alpha1.GroupVersion.String(), Kind: "JobRun", Name: "plan", UID: "earlier"},
		}},
		Spec: v1alpha1.JobApprovalSpec{Run: "plan", PlanDigest: planDigest, Author: "ann"},
	})
	w.applies("apply", "plan")
	w.pass(r, 0)
	assert.Contains(t, w.of("apply"), "Stalled Refused: cannot apply the plan of Run plan: it needs the approval of a plan")
}
