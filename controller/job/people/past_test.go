package people_test

import (
	"encoding/json"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/evidence"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/people"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/log"
)

// ended stores the manifest of a run that has ended.
func (b *bench) ended(t *testing.T, name string, fence int64) {
	t.Helper()
	text, err := json.Marshal(evidence.Run{
		Namespace: "ns", Workspace: "web", Name: name, UID: name, Created: at,
		State: v1alpha1.JobRunState{Input: &v1alpha1.JobInput{Action: "deploy"}, End: &v1alpha1.JobRunEnd{Phase: "Failed", Attempt: 2, Fence: fence}},
	})
	require.NoError(t, err)
	put(t, b.store, blob.Key{Workspace: "w", Fence: fence, Name: evidence.RunName}, string(text))
}

// Runs whose objects are gone are listed, and their logs are read, with the name of the JobWorkspace (JOBS.md J11 and J18).
func TestPastRuns(t *testing.T) {
	b := newBench(t)
	b.ended(t, "old-1", 2)
	b.ended(t, "old-2", 5)
	b.chunk(t, 1, "stdout", 1, log.Head{}, "first\n")
	b.chunk(t, 2, "stdout", 1, log.Head{}, "second\n")
	b.chunk(t, 7, "stdout", 1, log.Head{}, "of a run that goes on\n")

	_, text := b.send(t, request{person: "ann", path: workspacePath(wire.PastRuns)})
	var list v1alpha1.JobRunList
	require.NoError(t, json.Unmarshal([]byte(text), &list))
	require.Len(t, list.Items, 2)
	assert.Equal(t, []string{"old-2", "old-1"}, []string{list.Items[0].Name, list.Items[1].Name})
	first := list.Items[1]
	assert.Equal(t, v1alpha1.JobRunSpec{Workspace: "web", Action: "deploy"}, first.Spec)
	assert.Equal(t, v1alpha1.JobRunPhase("Failed"), first.State.End.Phase)
	assert.True(t, first.CreationTimestamp.Equal(&metav1.Time{Time: at}))

	path := wire.Path("ns", wire.Runs, "old-1", wire.Log)
	for want, query := range map[string]url.Values{
		"second\n": {"workspace": {"web"}}, "first\n": {"workspace": {"web"}, "attempt": {"1"}},
	} {
		_, text = b.send(t, request{person: "ann", path: path, query: query})
		assert.Equal(t, want, text)
	}
	code, text := b.send(t, request{person: "ann", path: path})
	refused(t, text, code, metav1.StatusReasonNotFound, "if the run is old, name its JobWorkspace with --workspace")
	code, text = b.send(t, request{person: "ann", path: path, query: url.Values{"workspace": {"other"}}})
	refused(t, text, code, metav1.StatusReasonNotFound, "JobWorkspace ns/other")
	code, text = b.send(t, request{person: "ann", path: wire.Path("ns", wire.Runs, "old-3", wire.Log), query: url.Values{"workspace": {"web"}}})
	refused(t, text, code, metav1.StatusReasonNotFound, "`orcon job runs ns/web --past` lists those whose logs are kept")
	b.set(people.Run{Workspace: "w", Attempt: 1, Fence: 7})
	_, text = b.logOf(t, url.Values{"workspace": {"other"}})
	assert.Equal(t, "of a run that goes on\n", text, "the object of a run comes first")
}

// A manifest that cannot be read is an error, and not a run that never was.
func TestPastRunsDamaged(t *testing.T) {
	b := newBench(t)
	put(t, b.store, blob.Key{Workspace: "w", Fence: 3, Name: evidence.RunName}, "damaged")
	code, text := b.send(t, request{person: "ann", path: workspacePath(wire.PastRuns)})
	refused(t, text, code, metav1.StatusReasonServiceUnavailable, "cannot read blob w/0000000000000000003/")
}
