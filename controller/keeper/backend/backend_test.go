package backend_test

import (
	"context"
	"crypto/md5"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/backend"
)

// bench is a backend with its client.
type bench struct {
	*backend.Backend

	t      *testing.T
	url    string
	stored []string
	fail   error
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t}
	b.Backend = &backend.Backend{State: t.TempDir(), Scratch: t.TempDir(), Fence: 3, Limit: 1 << 10, Store: b.store}
	b.serve()
	return b
}

func (b *bench) serve() {
	server := httptest.NewServer(b.Backend)
	b.t.Cleanup(server.Close)
	b.url = server.URL
}

// store notes the state that a checkpoint would have.
func (b *bench) store(context.Context) error {
	text, err := os.ReadFile(filepath.Join(b.State, "terraform.tfstate"))
	require.NoError(b.t, err)
	if b.fail == nil {
		b.stored = append(b.stored, string(text))
	}
	return b.fail
}

// call sends a request and returns status and body.
func (b *bench) call(method, path, body string, headers ...string) (int, string) {
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.url+path, strings.NewReader(body))
	require.NoError(b.t, err)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(b.t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(b.t, err)
	return answer.StatusCode, string(text)
}

const (
	mine   = `{"ID":"mine","Operation":"OperationTypeApply","Who":"a@b","Path":""}`
	theirs = `{"ID":"theirs","Operation":"OperationTypePlan"}`
)

// JOBS.md J12, JOBS-DESIGN.md 7: a run of OpenTofu as it is on the wire: lock, read, write, write, unlock.
func TestProtocol(t *testing.T) {
	b := newBench(t)
	steps := []struct {
		why, method, path, body string
		status                  int
		answer                  string
	}{
		{why: "nothing is there yet", method: "GET", path: "/state", status: 404, answer: "no state yet"},
		{why: "it locks", method: "LOCK", path: "/state", body: mine, status: 200},
		{why: "the answer was lost", method: "LOCK", path: "/state", body: mine, status: 200},
		{why: "another one gets the holder's lock", method: "LOCK", path: "/state", body: theirs, status: 423, answer: mine},
		{why: "the holder writes", method: "POST", path: "/state?ID=mine", body: `{"serial":1}`, status: 200},
		{why: "another one does not", method: "POST", path: "/state?ID=theirs", body: `{"serial":9}`, status: 423, answer: mine},
		{why: "nor without a lock", method: "POST", path: "/state", body: `{"serial":9}`, status: 423, answer: mine},
		{why: "it reads its write", method: "GET", path: "/state", status: 200, answer: `{"serial":1}`},
		{why: "it writes often", method: "POST", path: "/state?ID=mine", body: `{"serial":2}`, status: 200},
		{why: "half a state", method: "POST", path: "/state?ID=mine", body: `{"serial":`, status: 400, answer: "not JSON"},
		{why: "over the limit", method: "POST", path: "/state?ID=mine", body: strings.Repeat(" ", 1025), status: 413, answer: "raise spec.state.maxSize"},
		{why: "another one does not unlock it", method: "UNLOCK", path: "/state", body: theirs, status: 409, answer: mine},
		{why: "it unlocks", method: "UNLOCK", path: "/state", body: mine, status: 200},
		{why: "the answer was lost", method: "UNLOCK", path: "/state", body: mine, status: 200},
		{why: "its lock is gone", method: "POST", path: "/state?ID=mine", body: `{"serial":3}`, status: 409, answer: "lock mine is void"},
		{why: "-lock=false", method: "POST", path: "/state", body: `{"serial":4}`, status: 200},
		{why: "a lock needs an ID", method: "LOCK", path: "/state", body: `{}`, status: 400, answer: "no ID"},
		{why: "no lock", method: "LOCK", path: "/state", body: `x`, status: 400, answer: "cannot read the lock"},
		{why: "another one may lock now", method: "LOCK", path: "/state", body: theirs, status: 200},
		{why: "force-unlock has no body", method: "UNLOCK", path: "/state", status: 200},
		{why: "the state is not deleted over HTTP", method: "DELETE", path: "/state", status: 405, answer: "use GET, POST"},
		{why: "one path", method: "GET", path: "/", status: 404, answer: "use /state"},
	}
	for _, s := range steps {
		status, answer := b.call(s.method, s.path, s.body)
		require.Equal(t, s.status, status, s.why)
		require.Contains(t, answer, s.answer, s.why)
	}
	assert.Equal(t, []string{`{"serial":1}`, `{"serial":2}`, `{"serial":4}`}, b.stored, "each answered write is in a checkpoint")
	b.Close()
	status, _ := b.call("POST", "/state", `{}`)
	assert.Equal(t, 503, status, "nothing is written after the end")
}

// A damaged write is refused, by the checksum that clients send.
func TestChecksum(t *testing.T) {
	b := newBench(t)
	sum := md5.Sum([]byte(`{}`))
	text := base64.StdEncoding.EncodeToString(sum[:])
	status, _ := b.call("POST", "/state", `{}`, "Content-MD5", text)
	assert.Equal(t, 200, status)
	status, answer := b.call("POST", "/state", `[]`, "Content-MD5", text)
	assert.Equal(t, 400, status)
	assert.Contains(t, answer, "damaged")
	assert.Equal(t, []string{`{}`}, b.stored)
}

// JOBS-DESIGN.md 7: a write whose checkpoint failed is not acknowledged.
func TestStoreFails(t *testing.T) {
	b := newBench(t)
	b.fail = errors.New("the store is down")
	status, answer := b.call("POST", "/state", `{}`)
	assert.Equal(t, 500, status)
	assert.Contains(t, answer, "cannot store the state: the store is down")
}

// JOBS-DESIGN.md 7: a lock outlives a keeper, and is void under a higher fence.
func TestLockOutlivesKeeper(t *testing.T) {
	b := newBench(t)
	status, _ := b.call("LOCK", "/state", mine)
	require.Equal(t, 200, status)
	b.Backend = &backend.Backend{State: b.State, Scratch: b.Scratch, Fence: 3, Limit: b.Limit, Store: b.store}
	b.serve()
	status, answer := b.call("LOCK", "/state", theirs)
	require.Equal(t, 423, status)
	assert.JSONEq(t, mine, answer)
	b.Backend = &backend.Backend{State: b.State, Scratch: b.Scratch, Fence: 4, Limit: b.Limit, Store: b.store}
	b.serve()
	status, _ = b.call("POST", "/state?ID=mine", `{}`)
	require.Equal(t, 409, status)
	status, _ = b.call("LOCK", "/state", theirs)
	require.Equal(t, 200, status)
}

// Of those who lock at once, one gets the lock.
func TestLockRace(t *testing.T) {
	b := newBench(t)
	var all sync.WaitGroup
	got := make([]int, 8)
	for i := range got {
		all.Go(func() { got[i], _ = b.call("LOCK", "/state", fmt.Sprintf(`{"ID":"%d"}`, i)) })
	}
	all.Wait()
	count := map[int]int{}
	for _, status := range got {
		count[status]++
	}
	assert.Equal(t, map[int]int{200: 1, 423: 7}, count)
}

// What the template puts into its folder leads nowhere else.
func TestFolderIsHostile(t *testing.T) {
	b := newBench(t)
	outside := filepath.Join(t.TempDir(), "outside")
	require.NoError(t, os.WriteFile(outside, []byte("secret"), 0o600))
	for _, name := range []string{"terraform.tfstate", backend.Aside} {
		require.NoError(t, os.Symlink(outside, filepath.Join(b.State, name)))
	}
	status, answer := b.call("GET", "/state", "")
	assert.Equal(t, 500, status)
	assert.NotContains(t, answer, "secret")
	status, _ = b.call("POST", "/state", `{}`)
	assert.Equal(t, 200, status, "links are replaced")
	text, err := os.ReadFile(outside)
	require.NoError(t, err)
	assert.Equal(t, "secret", string(text))
}

// JOBS.md J7: a template may put anything in the place of its state. None of that holds up the keeper, or fills its memory.
func TestNoFile(t *testing.T) {
	for what, plant := range map[string]func(name string) error{
		"pipe": func(name string) error { return syscall.Mkfifo(name, 0o600) },
		"size": func(name string) error { return errors.Join(os.WriteFile(name, nil, 0o600), os.Truncate(name, 1<<20)) },
	} {
		b := newBench(t)
		require.NoError(t, plant(filepath.Join(b.State, "terraform.tfstate")))
		done := make(chan struct{})
		go func() {
			defer close(done)
			w := httptest.NewRecorder()
			b.ServeHTTP(w, httptest.NewRequest(http.MethodGet, backend.Path, http.NoBody))
			assert.Equal(t, http.StatusInternalServerError, w.Code, what)
			b.Close()
		}()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			require.Fail(t, "the keeper is held up", what)
		}
	}
}
