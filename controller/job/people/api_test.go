package people_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/archive/state"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/directory"
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/people"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve/servetest"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// bench is a server with JobWorkspace ns/web, whose UID is w, and its runs. Header Person names the sender, who may do
// everything unless forbidden says otherwise.
type bench struct {
	*servetest.World

	store *dated
	url   string

	mutex     sync.Mutex
	forbidden map[string]bool
	runs      map[string]people.Run
	deeds     []people.Deed
}

// at is the time of the server's clock.
//
//nolint:gochecknoglobals // a constant of a type that cannot be one
var at = time.Date(2026, 11, 27, 3, 0, 0, 0, time.UTC)

func newBench(t *testing.T, changes ...func(*people.API)) *bench {
	store, err := directory.Open(t.TempDir())
	require.NoError(t, err)
	b := &bench{World: &servetest.World{}, store: &dated{Store: store, now: at, stored: map[blob.Key]time.Time{}}, forbidden: map[string]bool{}, runs: map[string]people.Run{}}
	b.change(t, func(w workspace.Workspace) (workspace.Workspace, error) {
		w.Name, w.Terms.Timing = "ns/web", job.DefaultTiming()
		return w, nil
	})
	api := &people.API{
		Workspaces: b.Workspaces(), Store: b.store, Persons: b, Rights: b, Objects: b, Journal: b, Poll: 10 * time.Millisecond,
		Clock: func() time.Time { return at }, Limits: serve.Limits{Blob: 1 << 20, State: 1 << 20, Uploads: 1, Folder: t.TempDir()},
	}
	for _, change := range changes {
		change(api)
	}
	server := httptest.NewServer(api.Handler())
	t.Cleanup(func() {
		server.Close()
		store.Close()
	})
	b.url = server.URL
	return b
}

// dated is a store whose blobs are a second apart.
type dated struct {
	blob.Store

	mutex  sync.Mutex
	now    time.Time
	stored map[blob.Key]time.Time
}

// next sets the time of the next blob.
func (d *dated) next(now time.Time) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.now = now
}

// Put implements blob.Store.
func (d *dated) Put(ctx context.Context, key blob.Key, content io.ReadSeeker) error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.stored[key] = d.now
	d.now = d.now.Add(time.Second)
	return d.Store.Put(ctx, key, content)
}

// List implements blob.Store.
func (d *dated) List(ctx context.Context, workspace string) ([]blob.Info, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	all, err := d.Store.List(ctx, workspace)
	return d.date(all), err
}

// Below implements blob.Store.
func (d *dated) Below(ctx context.Context, workspace string, fence int64, prefix string) ([]blob.Info, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	all, err := d.Store.Below(ctx, workspace, fence, prefix)
	return d.date(all), err
}

// date returns blobs with the times at which they were stored here.
func (d *dated) date(all []blob.Info) []blob.Info {
	for i := range all {
		all[i].Stored = d.stored[all[i].Key]
	}
	return all
}

// Identify implements people.Persons.
func (b *bench) Identify(r *http.Request) (people.Person, error) {
	if name := r.Header.Get("Person"); name != "" {
		return people.Person{Name: name}, nil
	}
	return people.Person{}, fmt.Errorf("cannot tell who asks: %w", people.ErrUnknown)
}

// Permit implements people.Rights.
func (b *bench) Permit(_ context.Context, p people.Person, a people.Access) error {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.forbidden[fmt.Sprintf("%s %s %s/%s %s/%s", p.Name, a.Verb, a.Resource, a.Subresource, a.Namespace, a.Name)] {
		return fmt.Errorf("%s: %w", p.Name, people.ErrForbidden)
	}
	return nil
}

// Workspace implements people.Objects.
func (b *bench) Workspace(_ context.Context, namespace, name string) (string, error) {
	if namespace+"/"+name != "ns/web" {
		return "", fmt.Errorf("JobWorkspace %s/%s: %w", namespace, name, people.ErrNotFound)
	}
	return "w", nil
}

// Run implements people.Objects.
func (b *bench) Run(_ context.Context, _, name string) (people.Run, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	run, known := b.runs[name]
	if !known {
		return run, fmt.Errorf("JobRun %s: %w", name, people.ErrNotFound)
	}
	return run, nil
}

// Template implements people.Objects.
func (b *bench) Template(_ context.Context, namespace, name string) (string, error) {
	if namespace+"/"+name != "ns/tofu" {
		return "", fmt.Errorf("JobTemplate %s/%s: %w", namespace, name, people.ErrNotFound)
	}
	return "t", nil
}

// Record implements people.Journal.
func (b *bench) Record(_ context.Context, d people.Deed) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.deeds = append(b.deeds, d)
}

// journal returns what was recorded.
func (b *bench) journal() (all []string) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for _, d := range b.deeds {
		all = append(all, fmt.Sprintf("%s %s/%s %s: %s %s", d.Kind, d.Namespace, d.Name, d.Person.Name, d.What, d.Because))
	}
	return all
}

// set sets Run deploy-1.
func (b *bench) set(run people.Run) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.runs["deploy-1"] = run
}

func (b *bench) change(t *testing.T, change func(workspace.Workspace) (workspace.Workspace, error)) {
	t.Helper()
	require.NoError(t, b.Change("w", change))
}

// lose has Run r claim the lock, store a checkpoint, and be lost.
func (b *bench) lose(t *testing.T, files map[string]string) {
	t.Helper()
	r := workspace.Run{UID: "r", Name: "deploy-1"}
	b.change(t, func(w workspace.Workspace) (workspace.Workspace, error) {
		return w.Acquire(workspace.Admission{Run: r, Published: w.Last.Fence, Now: at})
	})
	fence := b.World.Workspace("w").Lock.Fence
	b.change(t, func(w workspace.Workspace) (workspace.Workspace, error) {
		return w.Claim(workspace.Start{Run: r, Attempt: 1, Claimant: workspace.Claimant{ID: "p", Where: "node n3"}})
	})
	if files != nil {
		archived, key := b.archived(t, fence, files)
		b.change(t, func(w workspace.Workspace) (workspace.Workspace, error) {
			return w.Save(workspace.Save{Run: r, Checkpoint: workspace.Checkpoint{
				Sequence: 1, Blob: workspace.Blob{Digest: archived, Key: key, Fence: fence},
			}})
		})
	}
	b.change(t, func(w workspace.Workspace) (workspace.Workspace, error) {
		return w.Lose(workspace.Evidence{Fence: fence, Vanished: true})
	})
}

// archived stores an archive of files below a fence, and returns its digest and key.
func (b *bench) archived(t *testing.T, fence int64, files map[string]string) (digest, key string) {
	t.Helper()
	content, sum := pack(t, files)
	k := blob.Key{Workspace: "w", Fence: fence, Name: fmt.Sprintf("state-%.8x.tar.zst", sum)}
	require.NoError(t, b.store.Put(t.Context(), k, bytes.NewReader(content)))
	return sum, k.String()
}

// pack returns an archive of files, and its digest.
func pack(t *testing.T, files map[string]string) ([]byte, string) {
	t.Helper()
	folder := t.TempDir()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(files[name]), 0o600))
	}
	var out bytes.Buffer
	summary, err := state.Capture(&out, folder, state.Options{Limit: 1 << 20})
	require.NoError(t, err)
	return out.Bytes(), summary.Digest
}

// unpack returns the files of an archive.
func unpack(t *testing.T, content []byte, digest string) map[string]string {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, state.Restore(folder, bytes.NewReader(content), digest, 1<<20))
	files := map[string]string{}
	names, err := filepath.Glob(filepath.Join(folder, "*"))
	require.NoError(t, err)
	for _, name := range names {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		files[filepath.Base(name)] = string(text)
	}
	return files
}

// request is one request of a person.
type request struct {
	person, method, path, body string
	query                      url.Values
}

// send returns status and body of the answer.
func (b *bench) send(t *testing.T, q request) (int, string) {
	t.Helper()
	method := q.method
	if method == "" {
		method = http.MethodGet
	}
	r, err := http.NewRequestWithContext(t.Context(), method, b.url+q.path+"?"+q.query.Encode(), strings.NewReader(q.body))
	require.NoError(t, err)
	r.Header.Set("Person", q.person)
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(text)
}

// paths of the objects of the bench.
func workspacePath(subresource string) string {
	return wire.Path("ns", wire.Workspaces, "web", subresource)
}

// refused checks that an answer is a Status that kubectl prints.
func refused(t *testing.T, text string, code int, reason metav1.StatusReason, says string) {
	t.Helper()
	var s metav1.Status
	require.NoError(t, json.Unmarshal([]byte(text), &s), text)
	assert.Equal(t, "Status", s.Kind)
	assert.Equal(t, metav1.StatusFailure, s.Status)
	assert.Equal(t, int32(code), s.Code, text)
	assert.Equal(t, reason, s.Reason, text)
	assert.Contains(t, s.Message, says)
}

// shown reads a state.
func shown(t *testing.T, text string) (s wire.State) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), &s), text)
	return s
}

// What is not permitted, or does not exist, is refused before anything is read.
func TestAccess(t *testing.T) {
	b := newBench(t)
	b.forbidden = map[string]bool{
		"low get jobworkspaces/state ns/web": true, "low update jobworkspaces/state ns/web": true,
		"low create jobworkspaces/decision ns/web": true, "low get jobruns/log ns/deploy-1": true, "low get jobworkspaces/runs ns/web": true,
		"low update jobtemplates/content ns/tofu": true,
	}
	b.set(people.Run{Workspace: "w", Attempt: 1, Fence: 1, Ended: true})
	log := wire.Path("ns", wire.Runs, "deploy-1", wire.Log)
	tests := map[string]struct {
		why    string
		q      request
		code   int
		reason metav1.StatusReason
		says   string
	}{
		"Nobody":      {"a request past the API server", request{path: log}, 401, metav1.StatusReasonUnauthorized, "the sender is not known"},
		"Log":         {"each subresource is a permission", request{person: "low", path: log}, 403, metav1.StatusReasonForbidden, "low"},
		"State":       {"reading", request{person: "low", path: workspacePath(wire.Archives)}, 403, metav1.StatusReasonForbidden, "low"},
		"Past":        {"what runs were", request{person: "low", path: workspacePath(wire.PastRuns)}, 403, metav1.StatusReasonForbidden, "low"},
		"Push":        {"writing", request{person: "low", method: "PUT", path: workspacePath(wire.Archives)}, 403, metav1.StatusReasonForbidden, "low"},
		"Decision":    {"deciding", request{person: "low", method: "POST", path: workspacePath(wire.Decisions)}, 403, metav1.StatusReasonForbidden, "low"},
		"Content":     {"pushing", request{person: "low", method: "PUT", path: wire.Path("ns", wire.Templates, "tofu", wire.Contents)}, 403, metav1.StatusReasonForbidden, "low"},
		"NoTemplate":  {"no such object", request{person: "ann", method: "PUT", path: wire.Path("ns", wire.Templates, "x", wire.Contents)}, 404, metav1.StatusReasonNotFound, "ns/x"},
		"NoWorkspace": {"no such object", request{person: "ann", path: wire.Path("ns", wire.Workspaces, "wbe", wire.Archives)}, 404, metav1.StatusReasonNotFound, "ns/wbe"},
		"Undecided":   {"to decide about", request{person: "ann", method: "POST", path: wire.Path("ns", wire.Workspaces, "wbe", wire.Decisions), body: `{"remedy":"retry","because":"x"}`}, 404, metav1.StatusReasonNotFound, "ns/wbe"},
		"NoRun":       {"no such object", request{person: "ann", path: wire.Path("ns", wire.Runs, "x", wire.Log)}, 404, metav1.StatusReasonNotFound, "JobRun x"},
		"NoPath":      {"another path", request{person: "ann", path: wire.Path("ns", wire.Runs, "x", "exec")}, 404, metav1.StatusReasonNotFound, "no such path"},
		"NoVerb":      {"another verb", request{person: "ann", method: "DELETE", path: log}, 404, metav1.StatusReasonNotFound, "no such path"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			code, text := b.send(t, tc.q)
			assert.Equal(t, tc.code, code, tc.why)
			refused(t, text, tc.code, tc.reason, tc.says)
		})
	}
	assert.Empty(t, b.journal())
}

// The API server finds the API by three documents, and each subresource by its verbs.
func TestDiscovery(t *testing.T) {
	b := newBench(t)
	_, text := b.send(t, request{path: "/apis"})
	var groups metav1.APIGroupList
	require.NoError(t, json.Unmarshal([]byte(text), &groups))
	require.Len(t, groups.Groups, 1)
	assert.Equal(t, "jobs.orcon.tengu.io/v1alpha1", groups.Groups[0].PreferredVersion.GroupVersion)
	_, text = b.send(t, request{path: "/apis/jobs.orcon.tengu.io"})
	var group metav1.APIGroup
	require.NoError(t, json.Unmarshal([]byte(text), &group))
	assert.Equal(t, groups.Groups[0].Versions, group.Versions)
	_, text = b.send(t, request{path: "/apis/jobs.orcon.tengu.io/v1alpha1"})
	var list metav1.APIResourceList
	require.NoError(t, json.Unmarshal([]byte(text), &list))
	assert.Equal(t, "APIResourceList", list.Kind)
	verbs := map[string]string{}
	for _, one := range list.APIResources {
		assert.Equal(t, one.Name != "runnodes/token", one.Namespaced)
		assert.NotEmpty(t, one.Kind)
		verbs[one.Name] = strings.Join(one.Verbs, " ")
	}
	assert.Equal(t, map[string]string{
		"jobruns/log": "get", "jobruns/plan": "get", "jobworkspaces/runs": "get", "jobworkspaces/state": "get update", "jobworkspaces/decision": "create",
		"jobtemplates/content": "update",
		"runnodes/token":       "create",
	}, verbs)
	code, _ := b.send(t, request{path: "/openapi/v2"})
	assert.Equal(t, http.StatusNotFound, code, "the API server takes it for an API without schemas")
}
