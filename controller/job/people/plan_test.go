package people_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/people"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// planned has Run deploy-1 leave a plan below fence 3.
func (b *bench) planned(t *testing.T, files map[string]string) (digest string) {
	t.Helper()
	content, digest := pack(t, files)
	key := blob.Key{Workspace: "w", Fence: 3, Name: "plan-1"}
	require.NoError(t, b.store.Put(t.Context(), key, bytes.NewReader(content)))
	b.set(people.Run{Workspace: "w", Attempt: 1, Fence: 3, Ended: true})
	b.change(t, func(w workspace.Workspace) (workspace.Workspace, error) {
		w.Plan = workspace.Plan{Blob: workspace.Blob{Digest: digest, Key: key.String(), Fence: 3}, Run: workspace.Run{UID: "r", Name: "deploy-1"}}
		return w, nil
	})
	return digest
}

// readPlan asks for the plan of Run deploy-1.
func (b *bench) readPlan(t *testing.T) (int, string) {
	t.Helper()
	return b.send(t, request{person: "ann", path: wire.Path("ns", wire.Runs, "deploy-1", wire.Plans)})
}

// JOBS.md J17: a plan is shown with what approves it, and who read it is recorded.
func TestPlan(t *testing.T) {
	b := newBench(t)
	digest := b.planned(t, map[string]string{"plan": "binary", "plan.txt": "1 to add\n"})
	code, text := b.readPlan(t)
	require.Equal(t, http.StatusOK, code, text)
	var got wire.RunPlan
	require.NoError(t, json.Unmarshal([]byte(text), &got))
	assert.Equal(t, "JobRunPlan", got.Kind)
	assert.Equal(t, []any{"ns", "deploy-1", "web", digest, "1 to add\n", ""}, []any{got.Namespace, got.Run, got.Workspace, got.Digest, got.Text, got.Obstacle})
	assert.Equal(t, []string{"PlanRead ns/web ann: read the plan of JobRun deploy-1 "}, b.journal())

	b.change(t, func(w workspace.Workspace) (workspace.Workspace, error) {
		w.State.Number = 1
		return w, nil
	})
	_, text = b.readPlan(t)
	require.NoError(t, json.Unmarshal([]byte(text), &got))
	assert.Contains(t, got.Obstacle, "generation 0 of the state, and 1 is current")
}

// A tool that writes no text has a plan all the same.
func TestPlanWithoutText(t *testing.T) {
	b := newBench(t)
	b.planned(t, map[string]string{"plan": "binary"})
	code, text := b.readPlan(t)
	require.Equal(t, http.StatusOK, code, text)
	assert.Contains(t, text, `"text":""`)
}

// What is not the plan of the run is not shown as such.
func TestNoPlan(t *testing.T) {
	b := newBench(t)
	_, text := b.readPlan(t)
	assert.Contains(t, text, "there is no such object", "no run")
	b.set(people.Run{Workspace: "w", Attempt: 1, Fence: 3})
	code, text := b.readPlan(t)
	refused(t, text, code, metav1.StatusReasonNotFound, "the run has not ended")
	b.set(people.Run{Workspace: "w", Attempt: 1, Fence: 3, Ended: true})
	code, text = b.readPlan(t)
	refused(t, text, code, metav1.StatusReasonNotFound, "it left none")
	b.planned(t, map[string]string{"plan.txt": "1 to add"})
	b.set(people.Run{Workspace: "w", Attempt: 1, Fence: 2, Ended: true})
	code, text = b.readPlan(t)
	refused(t, text, code, metav1.StatusReasonNotFound, "Run deploy-1 has made a newer one: `orcon job plan ns/deploy-1`")
	assert.Empty(t, b.journal())
}
