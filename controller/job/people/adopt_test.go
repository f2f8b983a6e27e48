package people_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/evidence"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// leftKey is where the state lies that Workspaces left.
//
//nolint:gochecknoglobals // a constant of a type that cannot be one
var leftKey = blob.Key{Workspace: "gone", Fence: 1, Name: "state-1.tar.zst"}

// leave has Workspaces that are gone leave states: one of the same name, one of another, one without a name.
func (b *bench) leave(t *testing.T) (digest string) {
	t.Helper()
	content, digest := pack(t, map[string]string{"a": "left"})
	require.NoError(t, b.store.Put(t.Context(), leftKey, bytes.NewReader(content)))
	for _, l := range []evidence.Left{
		{Name: "ns/web", UID: "old", Generation: 4}, {Name: "bank/db", UID: "foreign", Generation: 7}, {UID: "nameless", Generation: 2},
	} {
		l.Archive = workspace.Blob{Digest: digest, Key: leftKey.String(), Fence: 1}
		require.NoError(t, evidence.Leave(t.Context(), b.store, l))
	}
	require.NoError(t, evidence.Leave(t.Context(), b.store, evidence.Left{Name: "ns/empty", UID: "empty"}))
	return digest
}

// listed returns the UIDs that a person may see.
func (b *bench) listed(t *testing.T, person, from string) (uids []string) {
	t.Helper()
	code, text := b.send(t, request{person: person, path: workspacePath(wire.Archives), query: url.Values{"left": {from}}})
	require.Equal(t, http.StatusOK, code, text)
	var all wire.Left
	require.NoError(t, json.Unmarshal([]byte(text), &all))
	for _, one := range all.Items {
		uids = append(uids, one.UID)
	}
	return uids
}

// adopt adopts a state, for ann.
func (b *bench) adopt(t *testing.T, name, uid string, seen int64) (int, string) {
	t.Helper()
	body, err := json.Marshal(wire.Decision{Remedy: wire.Adopt, Because: "moved", Generation: seen, Left: wire.LeftName{Name: name, UID: uid}})
	require.NoError(t, err)
	return b.send(t, request{person: "ann", method: http.MethodPost, path: workspacePath(wire.Decisions), body: string(body)})
}

// The state that a JobWorkspace left becomes the next generation of another one, with a fence of its own, whatever its name
// is, and where a Run would wait (JOBS-DESIGN.md 12, JOBS.md J3 and J18).
func TestAdopt(t *testing.T) {
	b := newBench(t)
	digest := b.leave(t)
	for _, from := range []string{"same", "ns/web", "old"} {
		assert.Equal(t, []string{"old"}, b.listed(t, "ann", from), from)
	}
	code, text := b.adopt(t, "ns/web", "old", 0)
	require.Equal(t, http.StatusOK, code, text)
	w := b.World.Workspace("w")
	assert.Equal(t, digest, w.State.Digest)
	assert.Equal(t, "ann, adopted from generation 4 of ns/web", w.State.Author)
	assert.Equal(t, "Ready", shown(t, text).Phase)
	assert.Equal(t, "StateAdopted ns/web ann: adopted generation 4 of JobWorkspace ns/web (UID old) moved", b.journal()[0])
	fence := w.Fence
	code, text = b.adopt(t, "ns/web", "old", 0)
	require.Equal(t, http.StatusOK, code, text)
	assert.Equal(t, fence, b.World.Workspace("w").Fence, "JOBS.md J8: the same decision again changes nothing")
	code, text = b.adopt(t, "bank/db", "foreign", 0)
	require.Equal(t, http.StatusOK, code, text)
	assert.Equal(t, fence, b.World.Workspace("w").Fence, "an equal state is no new generation")
}

// A Run waits beside a state that was left; to begin empty is a decision too (JOBS.md J20).
func TestBeginEmpty(t *testing.T) {
	b := newBench(t)
	b.leave(t)
	assert.Equal(t, "StoreAhead", b.show(t).Phase)
	content, _ := pack(t, map[string]string{"a": "b"})
	code, text := b.push(t, content, 0)
	refused(t, text, code, metav1.StatusReasonConflict, "`orcon job state adopt ns/web --because TEXT`")
	code, text = b.send(t, request{person: "ann", method: http.MethodPost, path: workspacePath(wire.Decisions), body: `{"remedy":"store-newest","because":"x"}`})
	refused(t, text, code, metav1.StatusReasonBadRequest, "`orcon job state adopt ns/web --because TEXT`")
	code, text = b.send(t, request{person: "ann", method: http.MethodPost, path: workspacePath(wire.Decisions), body: `{"remedy":"store-ignore","because":"x"}`})
	require.Equal(t, http.StatusOK, code, text)
	assert.Equal(t, "Ready", shown(t, text).Phase)
	assert.Equal(t, []string{"old"}, b.listed(t, "ann", "same"), "it can be adopted later")
}

// What a person may not read in the namespace where it was left is not adopted from there, and not shown.
func TestAdoptionsRefused(t *testing.T) {
	b := newBench(t)
	b.leave(t)
	b.forbidden = map[string]bool{"ann get jobworkspaces/state bank/db": true, "ann get jobworkspaces/state /": true}
	for _, from := range []string{"bank/db", "foreign", "nameless", "ns/none"} {
		assert.Empty(t, b.listed(t, "ann", from), from)
	}
	assert.Equal(t, []string{"nameless"}, b.listed(t, "root", "nameless"))
	tests := map[string]struct {
		why, name, uid string
		seen           int64
		reason         metav1.StatusReason
		says           string
	}{
		"Foreign":  {"another namespace", "bank/db", "foreign", 0, metav1.StatusReasonForbidden, "cannot adopt a state for ns/web: ann"},
		"Nameless": {"any namespace", "", "nameless", 0, metav1.StatusReasonForbidden, "ann"},
		"Unknown":  {"not there", "ns/web", "x", 0, metav1.StatusReasonNotFound, `no JobWorkspace "ns/web" with UID "x", which is gone, left a state`},
		"Empty":    {"without a state", "ns/empty", "empty", 0, metav1.StatusReasonNotFound, "left a state"},
		"Stale":    {"the person saw another generation", "ns/web", "old", 3, metav1.StatusReasonConflict, "generation 0 is current, not 3"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			code, text := b.adopt(t, tc.name, tc.uid, tc.seen)
			refused(t, text, code, tc.reason, tc.says)
		})
	}
	assert.Len(t, b.History("w"), 1, tests["Foreign"].why)
	require.NoError(t, evidence.Leave(t.Context(), b.store, evidence.Left{
		Name: "ns/bad", UID: "bad", Archive: workspace.Blob{Digest: "sha256:other", Key: leftKey.String(), Fence: 1},
	}))
	code, text := b.adopt(t, "ns/bad", "bad", 0)
	refused(t, text, code, metav1.StatusReasonBadRequest, "in place of sha256:other")
}
