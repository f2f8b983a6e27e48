package serve_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/directory"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/runner"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve/servetest"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// bench is a server with workspace w, whose lock Run r has. Pod p of r sends token p; pod q of r, and pod s of Run
// other, send theirs.
type bench struct {
	*servetest.World

	store blob.Store
	api   *serve.API
	url   string
	// serving is held while a request is served, which goes on after its answer.
	serving *sync.RWMutex
}

func newBench(t *testing.T) bench {
	store, err := directory.Open(t.TempDir())
	require.NoError(t, err)
	b := bench{World: &servetest.World{}, store: store, serving: &sync.RWMutex{}}
	for token, run := range map[string]string{"p": "r", "q": "r", "s": "other"} {
		b.Add(token, serve.Caller{
			Workspace: "w", Run: workspace.Run{UID: run, Name: run}, Claimant: workspace.Claimant{ID: token, Where: "node"},
		}, serve.Run{Parameters: `{"a":1}`, Sensitive: []string{"named"}})
	}
	b.acquire(t, "r")
	api := &serve.API{
		Workspaces: b.Workspaces(), Runs: b.Runs(), Renewals: b.World, Callers: b.World, Store: store, Clock: time.Now,
		Limits: serve.Limits{Blob: 100, State: 1 << 20, Uploads: 1, Folder: t.TempDir()},
	}
	handler := api.Handler()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.serving.RLock()
		defer b.serving.RUnlock()
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		server.Close()
		store.Close()
	})
	b.api, b.url = api, server.URL+runner.Path
	return b
}

// acquire admits a Run.
func (b bench) acquire(t *testing.T, run string) {
	require.NoError(t, b.Change("w", func(w workspace.Workspace) (workspace.Workspace, error) {
		w.Name = "ns/w"
		w.Terms.Timing = job.DefaultTiming()
		return w.Acquire(workspace.Admission{Run: workspace.Run{UID: run, Name: run}, Published: w.Last.Fence, Now: time.Now()})
	}))
}

// request is one request and the answer that is due.
type request struct {
	why, token, method, path, body string
	// digest is the header; "-" for none, "" for the right one.
	digest string
	status int
	reason runner.Reason
	says   string
}

// send returns the body of an answer whose status is checked.
func (b bench) send(t *testing.T, q request) string {
	r, err := http.NewRequestWithContext(t.Context(), q.method, b.url+q.path, strings.NewReader(q.body))
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+q.token)
	sum := sha256.Sum256([]byte(q.body))
	switch q.digest {
	case "":
		r.Header.Set(runner.Digest, hex.EncodeToString(sum[:]))
	case "-":
	default:
		r.Header.Set(runner.Digest, q.digest)
	}
	r.Header.Set(runner.Position, "0")
	r.Header.Set(runner.Missing, "0")
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	b.serving.Lock()
	b.serving.Unlock() //nolint:staticcheck // it is over
	require.Equal(t, q.status, answer.StatusCode, "%s: %s", q.why, text)
	if q.status < 300 {
		return string(text)
	}
	var p runner.Problem
	require.NoError(t, json.Unmarshal(text, &p), "%s: %s", q.why, text)
	assert.Equal(t, q.reason, p.Reason, q.why)
	assert.NotEmpty(t, p.Cure, q.why)
	assert.Contains(t, p.Error, q.says, q.why)
	assert.Equal(t, q.status == http.StatusServiceUnavailable, answer.Header.Get("Retry-After") != "", q.why)
	return string(text)
}

// all sends requests one after the other.
func (b bench) all(t *testing.T, requests ...request) {
	for _, q := range requests {
		b.send(t, q)
	}
}

const claimOf = `{"attempt":1,"place":"`

// JOBS.md J10: one claimant has the run, and a repeated claim has the same answer.
func TestClaim(t *testing.T) {
	b := newBench(t)
	first := request{why: "the lock is the Run's", token: "p", method: "POST", path: "r/claim", body: claimOf + `p"}`, status: 200}
	text := b.send(t, first)
	var h runner.Hold
	require.NoError(t, json.Unmarshal([]byte(text), &h))
	assert.Equal(t, runner.Hold{
		Workspace: "w", Fence: 1, Parameters: `{"a":1}`, Environment: []string{"ORCON_GENERATION=0"}, Exclusive: true, LostSeconds: 60, GraceSeconds: 120,
	}, h)
	assert.Equal(t, text, b.send(t, first), "the same answer")
	assert.Len(t, b.History("w"), 2, "and no second effect")
	b.all(t,
		request{why: "another pod starts nothing", token: "q", method: "POST", path: "r/claim", body: claimOf + `q"}`, status: 409,
			reason: runner.Held, says: "Run r (attempt 1, fence 1) holds the lock of ns/w"},
		request{why: "nor another Run", token: "s", method: "POST", path: "other/claim", body: claimOf + `s"}`, status: 409, reason: runner.Held},
		request{why: "nor another attempt", token: "p", method: "POST", path: "r/claim", body: `{"attempt":2,"place":"p"}`, status: 409,
			reason: runner.Held},
	)
}

// JOBS.md J10 and J20: a Workspace that is restored to a time before the claim gives no second one.
func TestClaimIsRecorded(t *testing.T) {
	b := newBench(t)
	b.send(t, request{why: "the first", token: "p", method: "POST", path: "r/claim", body: claimOf + `p"}`, status: 200})
	before := b.History("w")[0]
	require.Empty(t, before.Lock.Claimant.ID)
	require.NoError(t, b.Change("w", func(workspace.Workspace) (workspace.Workspace, error) { return before, nil }))
	b.all(t,
		request{why: "the store knows the first one", token: "q", method: "POST", path: "r/claim", body: claimOf + `q"}`, status: 409,
			reason: runner.Held},
		request{why: "which has it again", token: "p", method: "POST", path: "r/claim", body: claimOf + `p"}`, status: 200},
	)
}

// A keeper that cannot claim the lock of its attempt is heard of; one that has it, or may not have it, is not.
func TestClaimFails(t *testing.T) {
	b := newBench(t)
	stored := b.api.Store
	b.api.Store = unwritable{stored}
	claim := request{token: "p", method: "POST", path: "r/claim", body: claimOf + `p"}`, status: 503, reason: runner.Unavailable, says: "no space left"}
	b.send(t, claim)
	got := b.Renewals("r")
	require.Len(t, got, 1)
	assert.WithinDuration(t, time.Now(), got[0].At, time.Minute)
	got[0].At = time.Time{}
	assert.Equal(t, serve.Renewal{Run: "r", Fence: 1, Delay: job.Delay{Stage: job.Preparing, Why: "cannot claim the run: no space left on device"}}, got[0])
	b.send(t, request{why: "another Run", token: "s", method: "POST", path: "other/claim", body: claimOf + `s"}`, status: 409, reason: runner.Held})
	b.send(t, request{why: "another attempt", token: "p", method: "POST", path: "r/claim", body: `{"attempt":2,"place":"p"}`, status: 409, reason: runner.Held})
	assert.Empty(t, b.Renewals("other"))
	assert.Len(t, b.Renewals("r"), 1)

	b.api.Store = stored
	claim.status, claim.reason, claim.says = 200, "", ""
	b.send(t, claim)
	b.send(t, request{why: "it is claimed", token: "q", method: "POST", path: "r/claim", body: claimOf + `q"}`, status: 409, reason: runner.Held})
	assert.Len(t, b.Renewals("r"), 1)
}

// What a keeper reports is bounded, and shows where it was cut.
func TestDelayIsBounded(t *testing.T) {
	b := newBench(t)
	b.send(t, request{token: "p", method: "POST", path: "r/claim", body: claimOf + `p"}`, status: 200})
	b.send(t, request{
		token: "p", method: "POST", path: "r/renew", body: `{"fence":1,"number":2,"stage":"Carrying","waits":"` + strings.Repeat("x", 1000) + `"}`, status: 200,
	})
	assert.Equal(t, job.Delay{Stage: job.Carrying, Why: strings.Repeat("x", 512) + "…"}, b.Renewals("r")[0].Delay)
}

// unwritable is a store that takes in nothing.
type unwritable struct{ blob.Store }

// Put implements blob.Store.
func (unwritable) Put(context.Context, blob.Key, io.ReadSeeker) error {
	return errors.New("no space left on device")
}

// JOBS.md J20: nothing starts while the store is ahead.
func TestClaimWaitsForTheStore(t *testing.T) {
	b := newBench(t)
	require.NoError(t, b.store.Put(t.Context(), blob.Key{Workspace: "w", Fence: 9, Name: "claimant"}, strings.NewReader("x")))
	b.send(t, request{why: "a person decides", token: "p", method: "POST", path: "r/claim", body: claimOf + `p"}`, status: 409,
		reason: runner.Waits, says: "orcon job state accept"})
}

// A RunNode is told of its key, and not of tokens and pods.
func TestKey(t *testing.T) {
	b := newBench(t)
	text := b.send(t, request{why: "a machine that has joined anew", token: servetest.Stranger, method: "POST", path: "r/claim", body: claimOf + `lab"}`,
		status: 403, reason: runner.Forbidden, says: "the key of the RunNode is not good for this"})
	assert.Contains(t, text, "if its machine has joined anew, or is revoked, decide about the run by orcon job unlock, then stop its agent, "+
		"and remove container orcon-UID-N and folder runs/UID.N of the run")
}

// JOBS.md J8, JOBS-DESIGN.md 8 and 13: what fits no rule changes nothing.
func TestRefused(t *testing.T) {
	for label, q := range map[string]request{
		"NoToken":    {why: "unknown token", token: "x", method: "POST", path: "r/claim", body: claimOf + `p"}`, status: 403, reason: runner.Forbidden},
		"OtherRun":   {why: "a token is good for its Run", token: "p", method: "POST", path: "other/claim", body: claimOf + `p"}`, status: 403, reason: runner.Forbidden, says: "Run r"},
		"OtherPlace": {why: "and its pod", token: "p", method: "POST", path: "r/claim", body: claimOf + `q"}`, status: 403, reason: runner.Forbidden},
		"NoJSON":     {why: "a message is JSON", token: "p", method: "POST", path: "r/claim", body: `{`, status: 400, reason: runner.Invalid},
		"Long":       {why: "and bounded", token: "p", method: "POST", path: "r/claim", body: `{"place":"` + strings.Repeat("x", 2<<20), status: 413, reason: runner.TooLarge},
		"Stale":      {why: "a fence that is past", token: "p", method: "POST", path: "r/renew", body: `{"fence":7,"number":1}`, status: 409, reason: runner.Stale},
		"Unclaimed":  {why: "nobody claimed the fence", token: "p", method: "POST", path: "r/end", body: `{"fence":7,"outcome":"none","cause":"NotStarted"}`, status: 409, reason: runner.Held},
		"NoOutcome":  {why: "an end has an outcome", token: "p", method: "POST", path: "r/end", body: `{"fence":1}`, status: 400, reason: runner.Invalid},
		"Outputs":    {why: "outputs are an object", token: "p", method: "POST", path: "r/end", body: `{"fence":1,"outcome":"unchanged","outputs":"[]"}`, status: 400, reason: runner.Invalid},
		"NotStored":  {why: "an archive is stored before", token: "p", method: "POST", path: "r/end", body: `{"fence":1,"outcome":"committed","state":{"digest":"d","fence":1,"name":"state-x"}}`, status: 400, reason: runner.Invalid, says: "not stored"},
		"Elsewhere":  {why: "below its own fence", token: "p", method: "POST", path: "r/end", body: `{"fence":1,"outcome":"committed","state":{"digest":"d","fence":2,"name":"state-x"}}`, status: 400, reason: runner.Invalid},
		"Record":     {why: "records are the API's own", token: "p", method: "PUT", path: "r/blobs/1/claimant", body: "q", status: 400, reason: runner.Invalid},
		"OtherFence": {why: "a fence of another", token: "p", method: "PUT", path: "r/blobs/2/state-x", body: "q", status: 409, reason: runner.Held},
		"OtherPod":   {why: "nor by another pod of the Run", token: "q", method: "PUT", path: "r/blobs/1/state-x", body: "q", status: 409, reason: runner.Held},
		"NoDigest":   {why: "content has a digest", token: "p", method: "PUT", path: "r/blobs/1/state-x", body: "q", digest: "-", status: 400, reason: runner.Invalid},
		"Torn":       {why: "what came is not what was sent: again", token: "p", method: "PUT", path: "r/blobs/1/state-x", body: "q", digest: "00", status: 503, reason: runner.Unavailable},
		"Large":      {why: "content is bounded", token: "p", method: "PUT", path: "r/blobs/1/state-x", body: strings.Repeat("x", 101), status: 413, reason: runner.TooLarge},
		"Path":       {why: "a name leads nowhere", token: "p", method: "PUT", path: "r/blobs/1/state-..%2f..%2fx", body: "q", status: 400, reason: runner.Invalid},
		"NoContent":  {why: "its image has it", token: "p", method: "GET", path: "r/content", status: 404, reason: runner.NotFound, says: "its image has it"},
		"Content":    {why: "that of another run", token: "p", method: "GET", path: "other/content", status: 403, reason: runner.Forbidden},
		"Fence":      {why: "a fence is a number", token: "p", method: "GET", path: "r/blobs/x", status: 400, reason: runner.Invalid},
		"NotFound":   {why: "there is no such blob", token: "p", method: "GET", path: "r/blobs/1/state-x", status: 404, reason: runner.NotFound},
		"NotOwn":     {why: "what others stored, and the Workspace does not name", token: "p", method: "GET", path: "r/blobs/2/state-x", status: 409, reason: runner.Held},
		"List":       {why: "nor a list of it", token: "p", method: "GET", path: "r/blobs/2", status: 409, reason: runner.Held},
		"LogFence":   {why: "logs lie below a fence of one's own", token: "p", method: "PUT", path: "r/logs/2/stdout/1", body: "x", status: 409, reason: runner.Held},
		"LogNumber":  {why: "chunks count from 1", token: "p", method: "PUT", path: "r/logs/1/stdout/0", body: "x", status: 400, reason: runner.Invalid},
		"LogStream":  {why: "a stream's name leads nowhere", token: "p", method: "PUT", path: "r/logs/1/.x/1", body: "x", status: 400, reason: runner.Invalid},
		"LogFile":    {why: "a file has a name", token: "p", method: "PUT", path: "r/logs/1/file-0/1", body: "x", status: 400, reason: runner.Invalid, says: "the name of its file is missing"},
		"LogLarge":   {why: "chunks are bounded", token: "p", method: "PUT", path: "r/logs/1/stdout/1", body: strings.Repeat("x", 1<<20+1), status: 413, reason: runner.TooLarge},
	} {
		t.Run(label, func(t *testing.T) {
			b := newBench(t)
			b.send(t, request{why: "a claim", token: "p", method: "POST", path: "r/claim", body: claimOf + `p"}`, status: 200})
			b.send(t, q)
			assert.Len(t, b.History("w"), 2, q.why)
			all, err := b.store.List(t.Context(), "")
			require.NoError(t, err)
			assert.Len(t, all, 1, q.why)
		})
	}
}

// JOBS.md J14: the report has the names of sensitive outputs alone; their values go beside it.
func TestSensitiveOutputs(t *testing.T) {
	b := newBench(t)
	b.send(t, request{token: "p", method: "POST", path: "r/claim", body: claimOf + `p"}`, status: 200})
	b.send(t, request{token: "p", method: "POST", path: "r/end", status: 200, body: `{"fence":1,"outcome":"unchanged",` +
		`"outputs":"{\"named\":\"x\",\"marked\":{\"sensitive\":true,\"value\":\"y\"},\"o\":1}"}`})
	got := b.ReportOf("r")
	assert.JSONEq(t, `{"named": {"sensitive": true}, "marked": {"sensitive": true}, "o": 1}`, got.Outputs)
	require.Len(t, got.Sensitive, 2)
	assert.Equal(t, []string{"y", "x"}, []string{got.Sensitive[0].Text(), got.Sensitive[1].Text()})
}

// JOBS.md J3 and J8: a whole run, each request twice.
func TestTwice(t *testing.T) {
	b := newBench(t)
	for _, q := range []request{
		{why: "claim", method: "POST", path: "r/claim", body: claimOf + `p"}`, status: 200},
		{why: "renew", method: "POST", path: "r/renew", body: `{"fence":1,"number":5}`, status: 200},
		{why: "a checkpoint's archive", method: "PUT", path: "r/blobs/1/state-1", body: "one", status: 204},
		{why: "a checkpoint", method: "POST", path: "r/checkpoint", body: `{"fence":1,"sequence":1,"state":{"digest":"d1","fence":1,"name":"state-1"}}`, status: 200},
		{why: "a chunk", method: "PUT", path: "r/logs/1/stdout/1", body: "hello", status: 204},
		{why: "an archive", method: "PUT", path: "r/blobs/1/state-2", body: "two", status: 204},
		{why: "the end", method: "POST", path: "r/end", body: `{"fence":1,"outcome":"committed","outputs":"{\"o\":1}","state":{"digest":"d2","fence":1,"name":"state-2"}}`, status: 200},
	} {
		q.token = "p"
		first := b.send(t, q)
		assert.Equal(t, first, b.send(t, q), q.why)
	}
	w := b.Workspace("w")
	assert.Equal(t, workspace.Lock{}, w.Lock)
	assert.Equal(t, workspace.Ended{Run: workspace.Run{UID: "r", Name: "r"}, Attempt: 1, Fence: 1, Outcome: job.Committed}, w.Last)
	assert.Equal(t, int64(1), w.State.Number)
	assert.Len(t, b.History("w"), 4, "acquired, claimed, checkpoint, end")
	assert.Equal(t, `{"o":1}`, b.ReportOf("r").Outputs)
	assert.Equal(t, "two", b.send(t, request{token: "p", method: "GET", path: "r/blobs/1/state-2", status: 200}))
	assert.JSONEq(t, `{"blobs":[{"name":"claimant","size":1},{"name":"generation-0000000001","size":53},{"name":"log-stdout-0000000001","size":32},`+
		`{"name":"state-1","size":3},{"name":"state-2","size":3}]}`, b.send(t, request{token: "p", method: "GET", path: "r/blobs/1", status: 200}))
	b.all(t,
		request{why: "the hold is past", token: "p", method: "POST", path: "r/renew", body: `{"fence":1,"number":6}`, status: 409, reason: runner.Stale},
		request{why: "blobs never change", token: "p", method: "PUT", path: "r/blobs/1/state-2", body: "other", status: 409, reason: runner.Conflict},
		request{why: "nor chunks", token: "p", method: "PUT", path: "r/logs/1/stdout/1", body: "other", status: 409, reason: runner.Conflict},
	)
}

// A keeper reads the logs of the last run, and neither other logs nor a state that is not the Workspace's.
func TestReads(t *testing.T) {
	b := newBench(t)
	leave := func(token, run string, fence int) {
		b.all(t,
			request{why: "claim", token: token, method: "POST", path: run + "/claim", body: claimOf + token + `"}`, status: 200},
			request{why: "a log", token: token, method: "PUT", path: fmt.Sprintf("%s/logs/%d/stdout/1", run, fence), body: "hello", status: 204},
			request{why: "a state", token: token, method: "PUT", path: fmt.Sprintf("%s/blobs/%d/state-1", run, fence), body: "secret", status: 204},
			request{why: "the end", token: token, method: "POST", path: run + "/end", body: fmt.Sprintf(`{"fence":%d,"outcome":"unchanged"}`, fence), status: 200})
	}
	leave("p", "r", 1)
	b.acquire(t, "other")
	const log = "/log-stdout-0000000001"
	reads := func(run string, fence, status int, name string) {
		q := request{why: name, token: "s", method: "GET", path: fmt.Sprintf("%s/blobs/%d%s", run, fence, name), status: status}
		if status != 200 {
			q.reason = runner.Held
		}
		b.all(t, q)
	}
	reads("other", 1, 200, log)
	reads("other", 1, 409, "/state-1")
	leave("s", "other", 2)
	b.Add("s", serve.Caller{Workspace: "w", Run: workspace.Run{UID: "third", Name: "third"}, Claimant: workspace.Claimant{ID: "s", Where: "node"}}, serve.Run{})
	b.acquire(t, "third")
	reads("third", 2, 200, log)
	reads("third", 1, 409, log)
}

// JOBS.md J8 and J17: a run that plans leaves its plan by its end, each request twice, and the Run that applies it gets that.
func TestPlan(t *testing.T) {
	b := newBench(t)
	token := func(run string, r serve.Run) {
		b.Add(run, serve.Caller{Workspace: "w", Run: workspace.Run{UID: run, Name: run}, Claimant: workspace.Claimant{ID: run, Where: "node"}}, r)
	}
	token("r", serve.Run{Plans: "sha256:input"})
	const end = `{"fence":1,"outcome":"unchanged","plan":{"digest":"sha256:p","fence":1,"name":"%s"}}`
	for _, q := range []request{
		{why: "claim", method: "POST", path: "r/claim", body: claimOf + `r"}`, status: 200, says: `"plans":true`},
		{why: "a plan", method: "PUT", path: "r/blobs/1/plan-1", body: "plan", status: 204},
		{why: "the end", method: "POST", path: "r/end", body: fmt.Sprintf(end, "plan-1"), status: 200},
	} {
		q.token = "r"
		first := b.send(t, q)
		assert.Contains(t, first, q.says)
		assert.Equal(t, first, b.send(t, q), q.why)
	}
	plan := b.Workspace("w").Plan
	assert.Equal(t, workspace.Plan{
		Blob: workspace.Blob{Digest: "sha256:p", Key: "w/0000000000000000001/plan-1", Fence: 1}, Run: workspace.Run{UID: "r", Name: "r"}, Input: "sha256:input",
	}, plan)
	token("a", serve.Run{Plan: "sha256:p"})
	require.NoError(t, b.Change("w", func(w workspace.Workspace) (workspace.Workspace, error) {
		return w.Acquire(workspace.Admission{Run: workspace.Run{UID: "a", Name: "a"}, Published: 1, Plan: "sha256:p", Now: time.Now()})
	}))
	assert.Contains(t, b.send(t, request{token: "a", method: "POST", path: "a/claim", body: claimOf + `a"}`, status: 200}),
		`"plan":{"digest":"sha256:p","fence":1,"name":"plan-1","size":1048576}`)
	assert.Equal(t, "plan", b.send(t, request{token: "a", method: "GET", path: "a/blobs/1/plan-1", status: 200}))
	b.all(t,
		request{why: "it plans nothing", token: "a", method: "POST", path: "a/end", status: 400, reason: runner.Invalid,
			body: strings.Replace(fmt.Sprintf(end, "plan-1"), `"fence":1`, `"fence":2`, 2), says: "its action plans no other one"})
	token("a", serve.Run{Plans: "sha256:input"})
	b.all(t,
		request{why: "a state is no plan", token: "a", method: "POST", path: "a/end", status: 400, reason: runner.Invalid,
			body: strings.Replace(fmt.Sprintf(end, "state-1"), `"fence":1`, `"fence":2`, 2), says: "it is not a plan-archive of fence 2"})
	assert.Equal(t, "a", b.Workspace("w").Lock.Run.UID)
}

// JOBS-DESIGN.md 5 and 6: a stale end commits nothing, and its archive is an orphan.
func TestStaleEndIsAnOrphan(t *testing.T) {
	b := newBench(t)
	b.send(t, request{token: "p", method: "POST", path: "r/claim", body: claimOf + `p"}`, status: 200})
	require.NoError(t, b.Change("w", func(w workspace.Workspace) (workspace.Workspace, error) {
		w, err := w.Lose(workspace.Evidence{Fence: 1, Vanished: true})
		require.NoError(t, err)
		return w.Decide(workspace.Verdict{Remedy: workspace.Discard, Fence: 1, By: "ann"})
	}))
	b.acquire(t, "other")
	b.all(t,
		request{why: "below its own fence it may store", token: "p", method: "PUT", path: "r/blobs/1/state-1", body: "late", status: 204},
		request{why: "but not commit", token: "p", method: "POST", path: "r/end", status: 409, reason: runner.Stale,
			body: `{"fence":1,"outcome":"committed","state":{"digest":"d","fence":1,"name":"state-1"}}`, says: "orcon job state diff ns/w"},
	)
	w := b.Workspace("w")
	require.Len(t, w.Orphans, 1)
	assert.Equal(t, "d", w.Orphans[0].Digest)
	assert.Equal(t, "other", w.Lock.Run.UID)
	assert.Zero(t, w.State.Number)
}

// JOBS.md J11: an output that has reached its limit is acknowledged, and only its size is stored.
func TestLogLimit(t *testing.T) {
	b := newBench(t)
	b.send(t, request{token: "p", method: "POST", path: "r/claim", body: claimOf + `p"}`, status: 200})
	b.send(t, request{why: "beyond the number of chunks", token: "p", method: "PUT", path: "r/logs/1/stdout/10001", body: "x", status: 204})
	all, err := b.store.List(t.Context(), "")
	require.NoError(t, err)
	assert.Len(t, all, 1)
}
