package approval

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
)

// JOBS.md J17: an approval goes with its JobRun. Until the API server has removed it, it counts for no JobRun that was made anew
// under the same name, and that has left the same plan.
func TestPlannerMadeAnew(t *testing.T) {
	w := newWorld(t)
	w.approve("sha256:" + digest[7:70] + "b")
	require.Contains(t, why(w.pass()), "OtherPlan")
	require.NoError(t, w.Client.Delete(t.Context(), planner()))
	anew := planner()
	anew.UID = "anew"
	require.NoError(t, w.Client.Create(t.Context(), anew))
	o := &v1alpha1.JobWorkspace{}
	require.NoError(t, w.Client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "db"}, o))
	o.State.Plan.Run.UID, o.State.Plan.Archive.Digest = "anew", "sha256:"+digest[7:70]+"b"
	require.NoError(t, w.Client.Update(t.Context(), o))
	assert.Contains(t, why(w.pass()), "Stalled NoRun")
	var all v1alpha1.JobRunList
	require.NoError(t, w.Client.List(t.Context(), &all))
	assert.Len(t, all.Items, 1, "nothing applies the new plan")
}
