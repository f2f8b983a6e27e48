package jobsapi_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/jobsapi"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/runner"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/chunk"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
)

// far is a controller that may be out of reach, and opens what was sealed to it.
type far struct {
	t   *testing.T
	key *age.X25519Identity

	mutex sync.Mutex
	away  bool
	// answer is the status of its answers, and reason their reason; 0 for 200.
	answer int
	reason runner.Reason
	got    []string
}

func newFar(t *testing.T) (*far, string) {
	key, err := age.GenerateX25519Identity()
	require.NoError(t, err)
	f := &far{t: t, key: key}
	served := httptest.NewServer(f)
	t.Cleanup(served.Close)
	return f, served.URL
}

// ServeHTTP notes what comes, as it is without its seal.
func (f *far) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.away {
		panic(http.ErrAbortHandler)
	}
	if f.answer != 0 {
		w.WriteHeader(f.answer)
		_, _ = io.WriteString(w, `{"error":"no","reason":"`+string(f.reason)+`"}`)
		return
	}
	var in io.Reader = r.Body
	if r.Header.Get(runner.Sealed) == "true" {
		opened, err := age.Decrypt(r.Body, f.key)
		if err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		in = opened
	}
	text, err := io.ReadAll(in)
	if assert.NoError(f.t, err) && !strings.HasSuffix(r.URL.Path, "renew") {
		f.got = append(f.got, strings.TrimPrefix(r.URL.Path, runner.Path)+" "+string(text)+r.Header.Get(runner.Last))
	}
	_, _ = io.WriteString(w, "{}")
}

func (f *far) set(away bool, answer int) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.away, f.answer = away, answer
}

// attempt is an attempt that calls by a spool; its clock is set by the test.
type attempt struct {
	*jobsapi.Spool
	*jobsapi.Client

	now time.Duration
}

func newAttempt(f *far, address, folder string) *attempt {
	a := &attempt{}
	clock := func() time.Duration { return a.now }
	a.Spool = &jobsapi.Spool{
		Below: http.DefaultTransport, Address: address, Folder: folder, Patience: time.Minute, Clock: clock,
		Recipient: func() string { return f.key.Recipient().String() },
	}
	a.Client = &jobsapi.Client{HTTP: &http.Client{Transport: a.Spool}, Address: address, Run: "u", Timeout: time.Minute, Clock: clock}
	return a
}

var held = keeper.Holder{Claimant: keeper.Claimant{Run: "u", Attempt: 1, Place: "lab"}, Fence: 1} //nolint:gochecknoglobals // a constant

// leave leaves a state, a chunk and an end.
func (a *attempt) leave(t *testing.T) []error {
	ctx := t.Context()
	return []error{
		a.Put(ctx, blob.Key{Workspace: "w", Fence: 1, Name: "state-1"}, strings.NewReader("secret state")),
		a.Write(ctx, chunk.Chunk{Fence: 1, Stream: "stdout", Number: 1, Content: []byte("secret line"), Last: true}),
		a.End(ctx, held, keeper.End{Outputs: `{"a":"secret output"}`}),
	}
}

// JOBS.md J13: what a run leaves while the controller is out of reach is on the disk in no other form than encrypted, and
// another agent, which cannot read it, sends it in its order.
func TestSpool(t *testing.T) {
	f, address := newFar(t)
	folder := filepath.Join(t.TempDir(), "spool")
	a := newAttempt(f, address, folder)
	_, err := a.Renew(t.Context(), held, job.Delay{})
	require.NoError(t, err)
	f.set(true, 0)
	a.now += time.Minute - 1
	require.Error(t, a.leave(t)[0], "it is out of reach for a moment only")
	assert.False(t, a.Ended())
	a.now++
	for _, err := range a.leave(t) {
		require.NoError(t, err)
	}
	_, err = a.Renew(t.Context(), held, job.Delay{})
	require.Error(t, err, "a renewal is not kept")
	files, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, files, 3)
	for _, one := range files {
		text, err := os.ReadFile(filepath.Join(folder, one.Name()))
		require.NoError(t, err)
		assert.NotContains(t, string(text), "secret")
		assert.Contains(t, string(text), "\nage-encryption.org/")
	}

	next := newAttempt(f, address, folder)
	assert.True(t, next.Ended())
	paused := 0
	require.NoError(t, next.Deliver(t.Context(), func(failed int, err error) {
		require.Error(t, err)
		if paused = failed; failed == 2 {
			f.set(false, 0)
		}
	}))
	assert.Equal(t, 2, paused)
	require.Len(t, f.got, 3)
	assert.Equal(t, "u/blobs/1/state-1 secret state", f.got[0])
	assert.Equal(t, "u/logs/1/stdout/1 secret linetrue", f.got[1])
	assert.Contains(t, f.got[2], `secret output`)
	assert.False(t, next.Ended())
	require.NoError(t, next.Deliver(t.Context(), nil), "nothing is left")
}

// A run that goes on sends what waits before anything later, once the controller is back; without a key nothing is kept.
func TestSpoolOrder(t *testing.T) {
	f, address := newFar(t)
	a := newAttempt(f, address, filepath.Join(t.TempDir(), "spool"))
	a.now = time.Hour
	require.NoError(t, a.leave(t)[0], "the first call is no sign that it is out of reach")
	assert.Len(t, f.got, 3)
	f.set(true, 0)
	a.now += time.Minute
	require.NoError(t, a.Write(t.Context(), chunk.Chunk{Fence: 1, Stream: "stdout", Number: 2, Content: []byte("kept")}))
	require.Error(t, a.Checkpoint(t.Context(), held, keeper.Checkpoint{}), "it is about what waits")
	require.NoError(t, a.Write(t.Context(), chunk.Chunk{Fence: 1, Stream: "stdout", Number: 3, Content: []byte("kept too")}))
	assert.False(t, a.Empty() || a.Ended(), "the run goes on")
	f.set(false, 0)
	require.NoError(t, a.Checkpoint(t.Context(), held, keeper.Checkpoint{Sequence: 7}))
	require.Len(t, f.got, 6)
	assert.Equal(t, []string{"u/logs/1/stdout/2 kept", "u/logs/1/stdout/3 kept too"}, f.got[3:5])
	assert.Contains(t, f.got[5], `"sequence":7`)
	assert.True(t, a.Empty())
	require.NoError(t, errors.Join(a.leave(t)...))
	assert.Len(t, f.got, 9)

	f.set(true, 0)
	a.now += time.Minute
	require.NoError(t, a.leave(t)[2])
	require.NoError(t, a.Write(t.Context(), chunk.Chunk{Fence: 1, Stream: "stdout", Number: 4}))
	assert.True(t, a.Ended(), "a chunk may come after the end")
	f.set(false, 0)
	require.NoError(t, a.Deliver(t.Context(), nil))

	f.set(true, 0)
	a.now += time.Minute
	a.Recipient = func() string { return "" }
	require.Error(t, a.leave(t)[2])
	assert.False(t, a.Ended())
	a.Recipient = func() string { return "nonsense" }
	require.ErrorContains(t, a.leave(t)[2], "cannot keep what waits for the controller")
}

// What the controller refuses for ever is dropped, and what it may accept later is not.
func TestSpoolRefused(t *testing.T) {
	for status, kept := range map[int]bool{
		http.StatusBadRequest: false, http.StatusConflict: false, http.StatusForbidden: true, http.StatusServiceUnavailable: true,
	} {
		f, address := newFar(t)
		a := newAttempt(f, address, filepath.Join(t.TempDir(), "spool"))
		f.set(true, 0)
		_, err := a.Renew(t.Context(), held, job.Delay{})
		require.Error(t, err)
		a.now += time.Minute
		require.NoError(t, errors.Join(a.leave(t)...))
		f.set(false, status)
		ctx, end := context.WithCancel(t.Context())
		err = a.Deliver(ctx, func(int, error) { end() })
		assert.Equal(t, kept, errors.Is(err, context.Canceled), status)
		assert.Equal(t, kept, a.Ended(), status)
		end()
	}
}

// JOBS.md J4 and J8: an end that waits for a person, as one that finds no room among the orphans, is sent until it is accepted.
func TestSpoolWaits(t *testing.T) {
	f, address := newFar(t)
	a := newAttempt(f, address, filepath.Join(t.TempDir(), "spool"))
	f.set(true, 0)
	_, err := a.Renew(t.Context(), held, job.Delay{})
	require.Error(t, err)
	a.now += time.Minute
	require.NoError(t, errors.Join(a.leave(t)...))
	f.reason = runner.Waits
	f.set(false, http.StatusConflict)
	require.NoError(t, a.Deliver(t.Context(), func(_ int, err error) {
		require.ErrorContains(t, err, "no")
		f.set(false, 0)
	}))
	assert.Len(t, f.got, 3)
}

// JOBS-DESIGN.md 16: when the program has ended, what cannot be sent is kept within seconds. A controller that answers, and
// cannot store it, is waited for, and a call that the keeper gives up proves nothing.
func TestSpoolStopped(t *testing.T) {
	f, address := newFar(t)
	a := newAttempt(f, address, filepath.Join(t.TempDir(), "spool"))
	ended := false
	a.Stopped = func() bool { return ended }
	renew := func(ctx context.Context) error {
		_, err := a.Renew(ctx, held, job.Delay{})
		return err
	}
	put := func() error {
		return a.Put(t.Context(), blob.Key{Workspace: "w", Fence: 1, Name: "state-1"}, strings.NewReader("secret state"))
	}
	require.NoError(t, renew(t.Context()))
	a.now += 30 * time.Second
	ended = true
	f.set(false, http.StatusServiceUnavailable)
	require.Error(t, put())
	require.Error(t, put(), "it answers")
	f.set(true, 0)
	given, giveUp := context.WithCancel(t.Context())
	giveUp()
	require.Error(t, renew(given))
	require.Error(t, put(), "that was no sign")
	ended = false
	require.Error(t, put(), "its program runs")
	ended = true
	require.NoError(t, errors.Join(a.leave(t)...))
	assert.True(t, a.Ended())
	f.set(false, 0)
	require.NoError(t, a.Deliver(t.Context(), nil))
	assert.Len(t, f.got, 3)

	require.NoError(t, renew(t.Context()))
	f.set(true, 0)
	require.Error(t, renew(t.Context()))
	a.now += 5*time.Second - 1
	require.Error(t, put(), "it is out of reach for a moment only")
	a.now++
	require.NoError(t, put())
}

// A file that cannot be read is not taken for what was kept, and stops the delivery until a person looks.
func TestSpoolDamaged(t *testing.T) {
	f, address := newFar(t)
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "00000001.request"), []byte("{"), 0o600))
	a := newAttempt(f, address, folder)
	assert.False(t, a.Ended())
	ctx, end := context.WithCancel(t.Context())
	require.ErrorIs(t, a.Deliver(ctx, func(_ int, err error) {
		require.ErrorContains(t, err, "cannot read "+folder)
		end()
	}), context.Canceled)
}
