package people_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// JOBS.md J20: an object that is restored to the time before a person's decision shows that the store is ahead, also where
// the decision made an archive of an earlier fence current.
func TestRestoredBeforeADecision(t *testing.T) {
	for label, tc := range map[string]struct {
		decide func(w workspace.Workspace) wire.Decision
		want   string
	}{
		"Rollback": {func(workspace.Workspace) wire.Decision {
			return wire.Decision{Remedy: wire.Rollback, Because: "2 was wrong", To: 1, Generation: 2}
		}, "1"},
		"Orphan": {func(w workspace.Workspace) wire.Decision {
			return wire.Decision{Remedy: "orphan", Because: "it is the real one", Orphan: w.Orphans[0].Key, Generation: 2}
		}, "lost"},
	} {
		t.Run(label, func(t *testing.T) {
			b := newBench(t)
			pushed(t, b, map[string]string{"a": "1"}, 0)
			b.lose(t, map[string]string{"a": "lost"})
			code, text := b.decide(t, wire.Decision{Remedy: "generation", Because: "x", Fence: 2, Generation: 1})
			require.Equal(t, http.StatusOK, code, text)
			pushed(t, b, map[string]string{"a": "2"}, 1)
			older := b.World.Workspace("w")
			code, text = b.decide(t, tc.decide(older))
			require.Equal(t, http.StatusOK, code, text)
			decided := b.World.Workspace("w").State
			require.Equal(t, int64(3), decided.Number)

			b.change(t, func(workspace.Workspace) (workspace.Workspace, error) { return older, nil })
			seen := b.show(t)
			require.Equal(t, "StoreAhead", seen.Phase)
			assert.Equal(t, int64(3), seen.Store.Generation)
			code, text = b.decide(t, wire.Decision{Remedy: wire.StoreNewest, Because: "restored", Generation: 2})
			require.Equal(t, http.StatusOK, code, text)
			now := b.World.Workspace("w").State
			assert.Equal(t, decided.Blob, now.Blob)
			key, err := blob.ParseKey(now.Key)
			require.NoError(t, err)
			assert.Equal(t, key.Fence, now.Fence, "the collector keeps what lies below it")
			_, archive := b.send(t, request{person: "ann", path: workspacePath(wire.Archives), query: url.Values{"archive": {"current"}}})
			assert.Equal(t, map[string]string{"a": tc.want}, unpack(t, []byte(archive), now.Digest))
		})
	}
}
