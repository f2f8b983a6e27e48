package people_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// decide sends a decision of ann.
func (b *bench) decide(t *testing.T, d wire.Decision) (int, string) {
	t.Helper()
	text, err := json.Marshal(d)
	require.NoError(t, err)
	return b.send(t, request{person: "ann", method: http.MethodPost, path: workspacePath(wire.Decisions), body: string(text)})
}

// show returns the state that ann sees.
func (b *bench) show(t *testing.T) wire.State {
	t.Helper()
	code, text := b.send(t, request{person: "ann", path: workspacePath(wire.Archives)})
	require.Equal(t, http.StatusOK, code, text)
	return shown(t, text)
}

// size returns the size of a blob.
func (b *bench) size(t *testing.T, key string) int64 {
	t.Helper()
	all, err := b.store.List(t.Context(), "w")
	require.NoError(t, err)
	for _, one := range all {
		if one.Key.String() == key {
			return one.Size
		}
	}
	return 0
}

// JOBS.md J6: a person sees what is proposed, and decides about exactly that.
func TestDecideAboutALostRun(t *testing.T) {
	tests := map[string]struct {
		why string
		d   wire.Decision
		// generation and content are those of the state afterwards, orphans how many are kept.
		generation int64
		content    string
		orphans    int
		held       bool
		event      string
	}{
		"Checkpoint": {"what is proposed", wire.Decision{Remedy: "checkpoint"}, 1, "new", 0, false, "decided checkpoint for fence 1 node n3 burnt"},
		"Generation": {"the checkpoint is kept", wire.Decision{Remedy: "generation"}, 0, "", 1, false, "decided generation for fence 1 node n3 burnt"},
		"Retry":      {"the same run again", wire.Decision{Remedy: "retry"}, 0, "", 1, true, "decided retry for fence 1 node n3 burnt"},
		"Discard":    {"nothing is kept", wire.Decision{Remedy: "discard"}, 0, "", 0, false, "decided discard for fence 1 node n3 burnt"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			b := newBench(t)
			b.lose(t, map[string]string{"a": "new"})
			seen := b.show(t)
			assert.Equal(t, "NeedsRecovery", seen.Phase)
			assert.Equal(t, "checkpoint", seen.Proposal)
			assert.Contains(t, seen.Message, "Run deploy-1 (attempt 1, fence 1) holds the lock of ns/web since 2026-11-27T03:00:00Z on node n3")
			require.Len(t, seen.Archives, 1)
			tc.d.Because, tc.d.Fence = " node n3 burnt ", seen.State.Fence
			code, text := b.decide(t, tc.d)
			require.Equal(t, http.StatusOK, code, text)
			after := shown(t, text)
			assert.Equal(t, tc.held, after.State.Lock != nil, tc.why)
			assert.Len(t, after.State.Orphans, tc.orphans, tc.why)
			w := b.World.Workspace("w")
			assert.Equal(t, tc.generation, w.State.Number, tc.why)
			assert.Equal(t, []string{"StateDecided ns/web ann: " + tc.event}, b.journal())
			if tc.content != "" {
				code, archive := b.send(t, request{person: "ann", path: workspacePath(wire.Archives), query: url.Values{"archive": {"current"}}})
				require.Equal(t, http.StatusOK, code)
				assert.Equal(t, map[string]string{"a": tc.content}, unpack(t, []byte(archive), w.State.Digest))
				assert.Equal(t, int64(1), b.show(t).Store.Generation, "the store has a record of it")
			}
			before := b.World.Workspace("w")
			_, _ = b.decide(t, tc.d)
			assert.Equal(t, before, b.World.Workspace("w"), "the same decision again has no effect")
		})
	}
}

// An archive that was stored, and whose end was lost on its way, is kept as an orphan; one that is not readable is left.
func TestDecideKeepsWhatWasUploaded(t *testing.T) {
	b := newBench(t)
	b.lose(t, nil)
	digest, key := b.archived(t, 1, map[string]string{"a": "late"})
	code, text := b.decide(t, wire.Decision{Remedy: "generation", Because: "x", Fence: 1})
	require.Equal(t, http.StatusOK, code, text)
	orphans := b.World.Workspace("w").Orphans
	require.Len(t, orphans, 1)
	assert.Equal(t, workspace.Blob{Digest: digest, Key: key, Fence: 1}, orphans[0].Blob)
	code, text = b.decide(t, wire.Decision{Remedy: "orphan", Because: "it is whole", Fence: 1, Orphan: key})
	require.Equal(t, http.StatusOK, code, text)
	assert.Equal(t, digest, b.World.Workspace("w").State.Digest)
	assert.Contains(t, b.journal()[1], "decided orphan of "+key+" it is whole")

	b = newBench(t)
	b.lose(t, nil)
	put(t, b.store, blob.Key{Workspace: "w", Fence: 1, Name: "state-x"}, "no archive")
	code, text = b.decide(t, wire.Decision{Remedy: "discard", Because: "x", Fence: 1})
	require.Equal(t, http.StatusOK, code, text)
	assert.Empty(t, b.World.Workspace("w").Orphans)
}

// What a person did not see, or did not mean, is refused with the reason, and changes nothing.
func TestDecisionsRefused(t *testing.T) {
	tests := map[string]struct {
		why    string
		d      wire.Decision
		code   int
		reason metav1.StatusReason
		says   string
	}{
		"Because":    {"others must know why", wire.Decision{Remedy: "retry", Because: " ", Fence: 1}, 400, metav1.StatusReasonBadRequest, "because: the request is invalid: it is empty"},
		"Word":       {"the nearest word", wire.Decision{Remedy: "retri", Because: "x", Fence: 1}, 400, metav1.StatusReasonBadRequest, `remedy: the request is invalid: "retri" is unknown: did you mean "retry"?`},
		"Words":      {"or all", wire.Decision{Because: "x", Fence: 1}, 400, metav1.StatusReasonBadRequest, `use one of generation, checkpoint, `},
		"Fence":      {"another hold", wire.Decision{Remedy: "retry", Because: "x", Fence: 7}, 409, metav1.StatusReasonConflict, "fence 7 was decided about"},
		"Generation": {"another state", wire.Decision{Remedy: "retry", Because: "x", Fence: 1, Generation: 3}, 409, metav1.StatusReasonConflict, "the state has changed since it was looked at: generation 0 is current, not 3"},
		"Orphan":     {"there is none", wire.Decision{Remedy: "orphan", Because: "x", Fence: 1, Orphan: "y"}, 400, metav1.StatusReasonBadRequest, "orcon job state show ns/web"},
		"Rollback":   {"the lock is held", wire.Decision{Remedy: wire.Rollback, Because: "x", To: 0}, 409, metav1.StatusReasonConflict, "holds the lock"},
		"Store":      {"it is not ahead", wire.Decision{Remedy: wire.StoreIgnore, Because: "x"}, 409, metav1.StatusReasonConflict, "nothing is to be accepted: the store is not ahead"},
	}
	b := newBench(t)
	b.lose(t, nil)
	before := b.World.Workspace("w")
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			code, text := b.decide(t, tc.d)
			assert.Equal(t, tc.code, code, tc.why)
			refused(t, text, tc.code, tc.reason, tc.says)
		})
	}
	code, text := b.send(t, request{person: "ann", method: "POST", path: workspacePath(wire.Decisions), body: `{"remedy":"retry","cause":"x"}`})
	assert.Equal(t, http.StatusBadRequest, code)
	refused(t, text, 400, metav1.StatusReasonBadRequest, `unknown field "cause"`)
	assert.Equal(t, before, b.World.Workspace("w"))
	assert.Empty(t, b.journal())
}

// A torn checkpoint is accepted only by name.
func TestTornCheckpoint(t *testing.T) {
	b := newBench(t)
	b.lose(t, map[string]string{"a": "half"})
	b.change(t, func(w workspace.Workspace) (workspace.Workspace, error) {
		w.Checkpoint.Torn = true
		return w, nil
	})
	code, text := b.decide(t, wire.Decision{Remedy: "checkpoint", Because: "x", Fence: 1})
	refused(t, text, code, metav1.StatusReasonConflict, "then add --torn")
	code, text = b.decide(t, wire.Decision{Remedy: "checkpoint", Because: "x", Fence: 1, Torn: true})
	require.Equal(t, http.StatusOK, code, text)
}

func TestRollback(t *testing.T) {
	b := newBench(t)
	pushed(t, b, map[string]string{"a": "1"}, 0)
	pushed(t, b, map[string]string{"a": "2"}, 1)
	code, text := b.decide(t, wire.Decision{Remedy: wire.Rollback, Because: "2 was wrong", To: 1, Generation: 2})
	require.Equal(t, http.StatusOK, code, text)
	w := b.World.Workspace("w")
	assert.Equal(t, int64(3), w.State.Number)
	assert.Equal(t, w.Kept[1].Digest, w.State.Digest)
	assert.Equal(t, "ann, from generation 1", w.State.Author)
	assert.Equal(t, "StateDecided ns/web ann: decided rollback to generation 1 2 was wrong", b.journal()[2])
	code, text = b.decide(t, wire.Decision{Remedy: wire.Rollback, Because: "x", To: 9, Generation: 3})
	refused(t, text, code, metav1.StatusReasonBadRequest, "it is not kept")
}

// JOBS.md J20: after the restore of an older object a person chooses between the store's newest state and the object's own.
func TestAcceptTheStore(t *testing.T) {
	for remedy, want := range map[string]string{wire.StoreNewest: "2", wire.StoreIgnore: "1"} {
		t.Run(remedy, func(t *testing.T) {
			b := newBench(t)
			pushed(t, b, map[string]string{"a": "1"}, 0)
			older := b.World.Workspace("w")
			pushed(t, b, map[string]string{"a": "2"}, 1)
			b.change(t, func(workspace.Workspace) (workspace.Workspace, error) { return older, nil })
			seen := b.show(t)
			assert.Equal(t, "StoreAhead", seen.Phase)
			assert.Equal(t, int64(2), seen.Store.Generation)
			require.NotNil(t, seen.Store.Newest)
			assert.Contains(t, seen.Archives, wire.Size{Key: seen.Store.Newest.Key, Bytes: b.size(t, seen.Store.Newest.Key)})
			code, archive := b.send(t, request{person: "ann", path: workspacePath(wire.Archives), query: url.Values{"archive": {seen.Store.Newest.Key}}})
			require.Equal(t, http.StatusOK, code, "a person looks at it before")
			assert.Equal(t, map[string]string{"a": "2"}, unpack(t, []byte(archive), seen.Store.Newest.Digest))
			code, text := b.decide(t, wire.Decision{Remedy: remedy, Because: "restored", Generation: 1})
			require.Equal(t, http.StatusOK, code, text)
			assert.Equal(t, "Ready", shown(t, text).Phase)
			_, archive = b.send(t, request{person: "ann", path: workspacePath(wire.Archives), query: url.Values{"archive": {"current"}}})
			assert.Equal(t, map[string]string{"a": want}, unpack(t, []byte(archive), b.World.Workspace("w").State.Digest))
			assert.Equal(t, int64(3), b.World.Workspace("w").State.Number, "above all that the store knows")
		})
	}
}

// A store with higher fences alone is accepted too.
func TestAcceptAStoreWithoutANewerGeneration(t *testing.T) {
	b := newBench(t)
	require.NoError(t, serve.Records{Store: b.store}.Claim(t.Context(), "w", 9, "p"))
	code, text := b.decide(t, wire.Decision{Remedy: wire.StoreIgnore, Because: "restored"})
	require.Equal(t, http.StatusOK, code, text)
	assert.Equal(t, int64(9), b.World.Workspace("w").Fence)
	assert.Nil(t, shown(t, text).Store.Newest)
}
