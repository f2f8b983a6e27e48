package people_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/people"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/log"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

func put(t *testing.T, store blob.Store, key blob.Key, content string) {
	t.Helper()
	require.NoError(t, store.Put(t.Context(), key, strings.NewReader(content)))
}

// push sends a state of ann.
func (b *bench) push(t *testing.T, content []byte, generation int64) (int, string) {
	t.Helper()
	return b.send(t, request{person: "ann", method: http.MethodPut, path: workspacePath(wire.Archives), body: string(content),
		query: url.Values{"generation": {strconv.FormatInt(generation, 10)}, "because": {"moved here"}}})
}

// pushed pushes files, which succeeds.
func pushed(t *testing.T, b *bench, files map[string]string, generation int64) {
	t.Helper()
	content, _ := pack(t, files)
	code, text := b.push(t, content, generation)
	require.Equal(t, http.StatusOK, code, text)
}

// JOBS.md J3 and J8: a push takes the lock and a fence, and the same push again changes nothing.
func TestPush(t *testing.T) {
	b := newBench(t)
	content, digest := pack(t, map[string]string{"terraform.tfstate": "{}"})
	code, text := b.push(t, content, 0)
	require.Equal(t, http.StatusOK, code, text)
	w := b.World.Workspace("w")
	assert.Equal(t, int64(1), w.State.Number)
	assert.Equal(t, digest, w.State.Digest)
	assert.Equal(t, int64(1), w.Fence)
	assert.False(t, w.Lock.Held())
	assert.Equal(t, "the push of ann", w.State.Author)
	assert.Equal(t, int64(1), shown(t, text).Store.Generation)
	history := b.History("w")
	assert.True(t, history[len(history)-2].Lock.Held(), "the lock was held meanwhile")

	code, text = b.push(t, content, 0)
	require.Equal(t, http.StatusOK, code, text)
	assert.Len(t, b.History("w"), len(history), "a repeated push has the same answer and no effect")
	other, _ := pack(t, map[string]string{"a": "b"})
	code, text = b.push(t, other, 0)
	refused(t, text, code, metav1.StatusReasonConflict, "generation 1 is current, not 0")
	assert.Equal(t, "StatePushed ns/web ann: pushed the state "+digest+" moved here", b.journal()[0])
}

// JOBS.md J6: a push replaces a state that a killed process left.
func TestPushInPlaceOfATornState(t *testing.T) {
	b := newBench(t)
	b.change(t, func(w workspace.Workspace) (workspace.Workspace, error) {
		w.State = workspace.Generation{Number: 1, Exit: job.Exit{Cause: job.Killed}}
		return w, nil
	})
	assert.Equal(t, "NeedsAccept", b.show(t).Phase)
	pushed(t, b, map[string]string{"a": "mended"}, 1)
	assert.Equal(t, "Ready", b.show(t).Phase)
}

func TestPushesRefused(t *testing.T) {
	b := newBench(t)
	archive, _ := pack(t, map[string]string{"a": "b"})
	large, _ := pack(t, map[string]string{"a": strings.Repeat("x", 2<<20/3)})
	long := url.Values{"generation": {"0"}, "because": {"x"}}
	tests := map[string]struct {
		why    string
		query  url.Values
		body   string
		reason metav1.StatusReason
		says   string
	}{
		"Because":    {"others must know why", url.Values{"generation": {"0"}}, string(archive), metav1.StatusReasonBadRequest, "because: the request is invalid: it is missing"},
		"Generation": {"what it replaces", url.Values{"because": {"x"}}, string(archive), metav1.StatusReasonBadRequest, "generation: the request is invalid: it is not a number"},
		"Archive":    {"not an archive", long, "PK", metav1.StatusReasonBadRequest, "pack a folder with `orcon job state push`"},
		"Long":       {"bounded", long, strings.Repeat("x", 1<<20+1), metav1.StatusReasonRequestEntityTooLarge, "too large"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			code, text := b.send(t, request{person: "ann", method: http.MethodPut, path: workspacePath(wire.Archives), body: tc.body, query: tc.query})
			refused(t, text, code, tc.reason, tc.says)
		})
	}
	assert.Len(t, b.History("w"), 1, "nothing takes the lock")
	small := newBench(t, func(a *people.API) { a.Limits.State = 1 << 10 })
	code, text := small.push(t, large, 0)
	refused(t, text, code, metav1.StatusReasonRequestEntityTooLarge, "the state is too large")
	b.lose(t, nil)
	code, text = b.push(t, archive, 0)
	refused(t, text, code, metav1.StatusReasonConflict, "needs a decision: `orcon job unlock ns/web --because TEXT`")
}

// failing is a store that fails at the blobs whose names begin with a text, or at listing; "" fails at nothing.
type failing struct {
	blob.Store

	put, get string
	list     bool
}

var errDisk = errors.New("the disk is full")

// Put implements blob.Store.
func (f *failing) Put(ctx context.Context, key blob.Key, content io.ReadSeeker) error {
	if f.put != "" && strings.HasPrefix(key.Name, f.put) {
		return errDisk
	}
	return f.Store.Put(ctx, key, content)
}

// Get implements blob.Store.
func (f *failing) Get(ctx context.Context, key blob.Key) (io.ReadCloser, error) {
	if f.get != "" && strings.HasPrefix(key.Name, f.get) {
		return nil, errDisk
	}
	return f.Store.Get(ctx, key)
}

// List implements blob.Store.
func (f *failing) List(ctx context.Context, workspace string) ([]blob.Info, error) {
	if f.list {
		return nil, errDisk
	}
	return f.Store.List(ctx, workspace)
}

// Below implements blob.Store.
func (f *failing) Below(ctx context.Context, workspace string, fence int64, prefix string) ([]blob.Info, error) {
	if f.list {
		return nil, errDisk
	}
	return f.Store.Below(ctx, workspace, fence, prefix)
}

// A store that fails is an answer that may be tried again, and no decision is made without it.
func TestStoreFails(t *testing.T) {
	f := &failing{}
	b := newBench(t, func(a *people.API) { f.Store, a.Store = a.Store, f })
	archive, _ := pack(t, map[string]string{"a": "0"})
	pushed(t, b, map[string]string{"a": "1"}, 0)
	b.lose(t, map[string]string{"a": "2"})
	b.archived(t, 2, map[string]string{"a": "3"})
	b.set(people.Run{Workspace: "w", Attempt: 1, Fence: 2, Ended: true})
	b.chunk(t, 2, "stdout", 1, log.Head{}, "one\n")
	before := b.World.Workspace("w")
	log := func() (int, string) { return b.logOf(t, nil) }
	show := func() (int, string) { return b.send(t, request{person: "ann", path: workspacePath(wire.Archives)}) }
	pull := func() (int, string) {
		return b.send(t, request{person: "ann", path: workspacePath(wire.Archives), query: url.Values{"archive": {"current"}}})
	}
	push := func() (int, string) { return b.push(t, archive, 1) }
	decide := func() (int, string) {
		return b.decide(t, wire.Decision{Remedy: "generation", Because: "x", Fence: 2, Generation: 1})
	}
	tests := map[string]struct {
		faults failing
		ask    []func() (int, string)
	}{
		"List":       {failing{list: true}, []func() (int, string){log, show, pull, push, decide}},
		"Archive":    {failing{get: "state-"}, []func() (int, string){pull, decide}},
		"Generation": {failing{get: "generation-"}, []func() (int, string){show, pull}},
		"Chunk":      {failing{get: "log-"}, []func() (int, string){log}},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			f.put, f.get, f.list = tc.faults.put, tc.faults.get, tc.faults.list
			for _, ask := range tc.ask {
				code, text := ask()
				refused(t, text, code, metav1.StatusReasonServiceUnavailable, "the disk is full")
			}
			assert.Equal(t, before, b.World.Workspace("w"))
		})
	}
}

// A push that fails gives the lock back.
func TestPushThatFails(t *testing.T) {
	b := newBench(t, func(a *people.API) { a.Store = &failing{Store: a.Store, put: "state-"} })
	archive, _ := pack(t, map[string]string{"a": "b"})
	code, text := b.push(t, archive, 0)
	refused(t, text, code, metav1.StatusReasonServiceUnavailable, "the disk is full")
	w := b.World.Workspace("w")
	assert.False(t, w.Lock.Held())
	assert.Zero(t, w.State.Number)
	assert.Equal(t, int64(1), w.Fence, "its fence is never used again")
	assert.Empty(t, b.journal())
}

// Only what the JobWorkspace names can be read, and each read is recorded.
func TestPull(t *testing.T) {
	b := newBench(t)
	get := func(archive string) (int, string) {
		return b.send(t, request{person: "ann", path: workspacePath(wire.Archives), query: url.Values{"archive": {archive}}})
	}
	code, text := get("current")
	refused(t, text, code, metav1.StatusReasonNotFound, "generation 0 is empty")
	pushed(t, b, map[string]string{"a": "1"}, 0)
	pushed(t, b, map[string]string{"a": "2"}, 1)
	_, hidden := b.archived(t, 1, map[string]string{"a": "a checkpoint that was replaced"})
	for _, key := range []string{hidden, "w/../x", "other/0000000000000000001/state-x"} {
		code, text = get(key)
		refused(t, text, code, metav1.StatusReasonNotFound, "`orcon job state show ns/web` lists those that there are")
	}
	earlier := b.show(t).State.Kept[0].Archive
	code, text = get(earlier.Key)
	require.Equal(t, http.StatusOK, code)
	assert.Equal(t, map[string]string{"a": "1"}, unpack(t, []byte(text), earlier.Digest))
	assert.Equal(t, []string{"StateRead ns/web ann: read the state " + earlier.Key + " "}, b.journal()[2:], "once, and with the key")
	require.NoError(t, b.store.Delete(t.Context(), mustParse(t, earlier.Key)))
	code, text = get(earlier.Key)
	refused(t, text, code, metav1.StatusReasonNotFound, "there is no such blob")
}

func mustParse(t *testing.T, key string) blob.Key {
	t.Helper()
	k, err := blob.ParseKey(key)
	require.NoError(t, err)
	return k
}

// A state is read as it is stored.
func TestPullIsTheArchive(t *testing.T) {
	b := newBench(t)
	content, _ := pack(t, map[string]string{"a": "1"})
	code, text := b.push(t, content, 0)
	require.Equal(t, http.StatusOK, code, text)
	_, text = b.send(t, request{person: "ann", path: workspacePath(wire.Archives), query: url.Values{"archive": {"current"}}})
	assert.True(t, bytes.Equal(content, []byte(text)))
}
