package serve_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/evidence"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// unlisted is a store that gives no list of all its blobs.
type unlisted struct{ blob.Store }

// List implements blob.Store.
func (unlisted) List(context.Context, string) ([]blob.Info, error) {
	return nil, errors.New("all blobs were listed")
}

// carry has pod p carry Run r to its end, with a state of its own.
func (b bench) carry(t *testing.T, run string, number int64) {
	b.Add("p", serve.Caller{Workspace: "w", Run: workspace.Run{UID: run, Name: run}, Claimant: workspace.Claimant{ID: "p"}}, serve.Run{})
	w := b.Workspace("w")
	b.all(t,
		request{token: "p", method: "POST", path: run + "/claim", body: claimOf + `p"}`, status: 200},
		request{token: "p", method: "PUT", path: fmt.Sprintf("%s/blobs/%d/state-%s", run, w.Lock.Fence, run), body: run, status: 204},
		request{token: "p", method: "POST", path: run + "/end", status: 200, body: fmt.Sprintf(
			`{"fence":%d,"base":%d,"outcome":"committed","state":{"digest":"%s","fence":%d,"name":"state-%s"}}`, w.Lock.Fence, number, run, w.Lock.Fence, run)},
	)
}

// full returns how far a store reaches, by a list of all.
func full(t *testing.T, s blob.Store) (e workspace.Extent) {
	all, err := s.List(t.Context(), "w")
	require.NoError(t, err)
	for _, one := range all {
		e.Fence = max(e.Fence, one.Key.Fence)
		if text, ok := strings.CutPrefix(one.Key.Name, "generation-"); ok {
			n, err := strconv.ParseInt(text, 10, 64)
			require.NoError(t, err)
			e.Generation = max(e.Generation, n)
		}
	}
	return e
}

// JOBS.md J20: whatever object is restored, each request finds that the store is ahead of it where a list of all blobs
// shows so; and while it is not, nothing is listed.
func TestExtent(t *testing.T) {
	b := newBench(t)
	found := map[bool]int{}
	b.carry(t, "r", 0)
	b.compare(t, found)
	for number := int64(1); number < 9; number += 2 {
		b.acquire(t, fmt.Sprint("r", number))
		b.carry(t, fmt.Sprint("r", number), number)
		b.compare(t, found)
		require.NoError(t, b.Change("w", func(w workspace.Workspace) (workspace.Workspace, error) {
			return w.Rollback(number, number+1, "ann", workspace.Extent{})
		}))
		b.compare(t, found)
	}
	assert.Positive(t, found[true])
	assert.Positive(t, found[false])
}

// compare compares what is found of the store for each value that the Workspace had.
func (b bench) compare(t *testing.T, found map[bool]int) {
	want := full(t, b.store)
	for _, w := range b.History("w") {
		got, err := evidence.Extent(t.Context(), b.store, "w", w)
		require.NoError(t, err)
		ahead := w.Phase(want) == workspace.StoreAhead
		require.Equal(t, ahead, w.Phase(got) == workspace.StoreAhead, "generation %d, fence %d", w.State.Number, w.Fence)
		if found[ahead]++; !ahead {
			_, err := evidence.Extent(t.Context(), unlisted{b.store}, "w", w)
			require.NoError(t, err)
		}
	}
}
