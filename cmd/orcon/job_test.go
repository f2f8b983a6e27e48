package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/directory"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/job"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/people"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve/servetest"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// jobCluster is an API server with JobWorkspace shop/web, its template and its runs, and with the people's API itself,
// whose only user is ann.
type jobCluster struct {
	*servetest.World

	store blob.Store
	args  []string

	mutex     sync.Mutex
	workspace v1alpha1.JobWorkspace
	// meanwhile changes the JobWorkspace as Orcon does, right before the next change by the user.
	meanwhile func(*v1alpha1.JobWorkspace)
	template  v1alpha1.JobTemplate
	types     []v1alpha1.JobTemplateType
	// made are the JobWorkspaces that were created.
	made []v1alpha1.JobWorkspace
	// approvals are the JobApprovals that were created.
	approvals []v1alpha1.JobApproval
	runs      map[string]*v1alpha1.JobRun
	deeds     []people.Deed
	// looks counts how often a run was read; looked is called with that number.
	looks  int
	looked func(looks int, r *v1alpha1.JobRun)
}

func newJobCluster(t *testing.T) *jobCluster {
	t.Helper()
	store, err := directory.Open(t.TempDir())
	require.NoError(t, err)
	j := &jobCluster{World: &servetest.World{}, store: store, runs: map[string]*v1alpha1.JobRun{}}
	j.template = v1alpha1.JobTemplate{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "tofu"},
		Spec: v1alpha1.JobTemplateSpec{JobProgram: v1alpha1.JobProgram{
			Image: "example.org/tofu@sha256:" + strings.Repeat("a", 64), Contract: "v1",
			Parameters: &runtime.RawExtension{Raw: []byte(`{"type":"object","properties":{"replicas":{"type":"integer"},"region":{"type":"string"},
				"token":{"type":"string","sensitive":true}},"additionalProperties":false}`)},
			Actions: []v1alpha1.JobAction{{Name: "deploy", Entrypoint: []string{"/deploy"}}, {Name: "check", Entrypoint: []string{"/check"}}},
		}},
	}
	j.workspace = v1alpha1.JobWorkspace{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "w", ResourceVersion: "7"},
		Spec:       v1alpha1.JobWorkspaceSpec{Template: "tofu", Parameters: &runtime.RawExtension{Raw: []byte(`{"replicas":1,"region":"eu"}`)}},
	}
	j.change(t, func(w workspace.Workspace) (workspace.Workspace, error) {
		w.Name, w.Terms.Timing = "shop/web", job.DefaultTiming()
		return w, nil
	})
	api := &people.API{
		Workspaces: j.Workspaces(), Store: store, Persons: j, Rights: j, Objects: j, Journal: j, Poll: 10 * time.Millisecond, Clock: time.Now,
		Limits: serve.Limits{Blob: 1 << 20, State: 1 << 20, Uploads: 1, Folder: t.TempDir()},
	}
	server := httptest.NewServer(j.handler(api.Handler()))
	t.Cleanup(func() {
		server.Close()
		store.Close()
	})
	j.args = []string{"-n", "shop", "--kubeconfig", write(t, "config", fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: a,
clusters: [{name: a, cluster: {server: %q}}], contexts: [{name: a, context: {cluster: a}}]}`, server.URL))}
	return j
}

// Identify implements people.Persons.
func (j *jobCluster) Identify(*http.Request) (people.Person, error) {
	return people.Person{Name: "ann"}, nil
}

// Permit implements people.Rights.
func (j *jobCluster) Permit(context.Context, people.Person, people.Access) error { return nil }

// Workspace implements people.Objects.
func (j *jobCluster) Workspace(_ context.Context, namespace, name string) (string, error) {
	if namespace+"/"+name == "shop/web" {
		return "w", nil
	}
	return "", fmt.Errorf("cannot find JobWorkspace %s/%s: %w", namespace, name, people.ErrNotFound)
}

// Run implements people.Objects.
func (j *jobCluster) Run(_ context.Context, _, name string) (people.Run, error) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	r := j.runs[name]
	if r == nil {
		return people.Run{}, fmt.Errorf("cannot find JobRun %s: %w", name, people.ErrNotFound)
	}
	run := people.Run{Workspace: "w", Attempt: int(r.Status.Attempt), Fence: r.Status.Fence}
	if r.State != nil && r.State.End != nil {
		run.Ended = true
	}
	return run, nil
}

// Template implements people.Objects.
func (j *jobCluster) Template(_ context.Context, namespace, name string) (string, error) {
	if namespace+"/"+name == "shop/tofu" {
		return "t", nil
	}
	return "", fmt.Errorf("cannot find JobTemplate %s/%s: %w", namespace, name, people.ErrNotFound)
}

// Record implements people.Journal.
func (j *jobCluster) Record(_ context.Context, d people.Deed) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	j.deeds = append(j.deeds, d)
}

func (j *jobCluster) change(t *testing.T, change func(workspace.Workspace) (workspace.Workspace, error)) {
	t.Helper()
	require.NoError(t, j.Change("w", change))
}

// handler answers requests for kinds, and passes others on.
func (j *jobCluster) handler(api http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/apis/jobs.orcon.tengu.io/", api)
	mux.HandleFunc("GET /apis", func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w, json.RawMessage(`{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"orcon.tengu.io","versions":[{"groupVersion":"orcon.tengu.io/v1alpha1","version":"v1alpha1"}],
			"preferredVersion":{"groupVersion":"orcon.tengu.io/v1alpha1","version":"v1alpha1"}},{"name":"authentication.k8s.io",
			"versions":[{"groupVersion":"authentication.k8s.io/v1","version":"v1"}],"preferredVersion":{"groupVersion":"authentication.k8s.io/v1","version":"v1"}}]}`))
	})
	mux.HandleFunc("GET /apis/orcon.tengu.io/v1alpha1", func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w, json.RawMessage(`{"kind":"APIResourceList","groupVersion":"orcon.tengu.io/v1alpha1","resources":[
			{"name":"jobworkspaces","kind":"JobWorkspace","namespaced":true},{"name":"jobruns","kind":"JobRun","namespaced":true},
			{"name":"jobtemplates","kind":"JobTemplate","namespaced":true},{"name":"jobtemplatetypes","kind":"JobTemplateType","namespaced":false},{"name":"jobapprovals","kind":"JobApproval","namespaced":true}]}`))
	})
	mux.HandleFunc("GET /apis/authentication.k8s.io/v1", func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w, json.RawMessage(`{"kind":"APIResourceList","groupVersion":"authentication.k8s.io/v1","resources":[{"name":"selfsubjectreviews","kind":"SelfSubjectReview"}]}`))
	})
	mux.HandleFunc("POST /apis/authentication.k8s.io/v1/selfsubjectreviews", func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w, json.RawMessage(`{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1","status":{"userInfo":{"username":"ann"}}}`))
	})
	mux.HandleFunc("GET /apis/orcon.tengu.io/v1alpha1/jobtemplatetypes", j.locked(func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w, v1alpha1.JobTemplateTypeList{TypeMeta: metav1.TypeMeta{Kind: "JobTemplateTypeList", APIVersion: "orcon.tengu.io/v1alpha1"}, Items: j.types})
	}))
	const kinds = "/apis/orcon.tengu.io/v1alpha1/namespaces/shop/"
	mux.HandleFunc(kinds+"jobtemplates/tofu", j.locked(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPatch || patch(w, r, &j.template) {
			answerJSON(w, j.template)
		}
	}))
	mux.HandleFunc(kinds+"jobworkspaces/web", j.locked(j.serveWorkspace))
	mux.HandleFunc("POST "+kinds+"jobworkspaces", j.locked(func(w http.ResponseWriter, r *http.Request) {
		var o v1alpha1.JobWorkspace
		if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
			panic(err)
		}
		j.made = append(j.made, o)
		answerJSON(w, o)
	}))
	mux.HandleFunc("POST "+kinds+"jobapprovals", j.locked(j.serveApprovals))
	mux.HandleFunc(kinds+"jobruns", j.locked(j.serveRuns))
	mux.HandleFunc("/apis/orcon.tengu.io/v1alpha1/jobruns", j.locked(j.serveRuns))
	mux.HandleFunc(kinds+"jobruns/{name}", j.locked(j.serveRun))
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { notThere(w) })
	return mux
}

// locked answers one request at a time.
func (j *jobCluster) locked(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		j.mutex.Lock()
		defer j.mutex.Unlock()
		h(w, r)
	}
}

func answerJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	_, _ = w.Write(text)
}

func notThere(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusNotFound)
	_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
}

func (j *jobCluster) serveWorkspace(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPatch && j.meanwhile != nil {
		j.meanwhile(&j.workspace)
		j.workspace.ResourceVersion += "0"
		j.meanwhile = nil
	}
	if r.Method != http.MethodPatch || patch(w, r, &j.workspace) {
		answerJSON(w, j.workspace)
	}
}

// patch merges the body of a request into an object. If that has another version than the body names, patch answers with
// a conflict and returns false.
func patch(w http.ResponseWriter, r *http.Request, into client.Object) bool {
	var change, whole map[string]any
	text, err := json.Marshal(into)
	if err = errors.Join(err, json.NewDecoder(r.Body).Decode(&change), json.Unmarshal(text, &whole)); err != nil {
		panic(err)
	}
	metadata, _ := change["metadata"].(map[string]any)
	if version := metadata["resourceVersion"]; version != nil && version != into.GetResourceVersion() {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","message":"it has been modified","code":409}`)
		return false
	}
	text, err = json.Marshal(merged(whole, change))
	reflect.ValueOf(into).Elem().SetZero() // a field that is removed stays so
	if err = errors.Join(err, json.Unmarshal(text, into)); err != nil {
		panic(err)
	}
	return true
}

// merged returns an object after a merge patch.
func merged(whole, change map[string]any) map[string]any {
	for key, value := range change {
		below, is := value.(map[string]any)
		before, was := whole[key].(map[string]any)
		switch {
		case value == nil:
			delete(whole, key)
		case is && was:
			whole[key] = merged(before, below)
		default:
			whole[key] = value
		}
	}
	return whole
}

func (j *jobCluster) serveRuns(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		var made v1alpha1.JobRun
		_ = json.NewDecoder(r.Body).Decode(&made)
		made.Name = fmt.Sprintf("%s%d", made.GenerateName, len(j.runs)+1)
		made.UID, made.CreationTimestamp = "r", metav1.Now()
		j.runs[made.Name] = &made
		answerJSON(w, made)
		return
	}
	list := v1alpha1.JobRunList{}
	for _, one := range j.runs {
		list.Items = append(list.Items, *one)
	}
	list.Kind, list.APIVersion = "JobRunList", "orcon.tengu.io/v1alpha1"
	answerJSON(w, list)
}

func (j *jobCluster) serveApprovals(w http.ResponseWriter, r *http.Request) {
	var made v1alpha1.JobApproval
	_ = json.NewDecoder(r.Body).Decode(&made)
	made.Name = fmt.Sprintf("%s%d", made.GenerateName, len(j.approvals)+1)
	j.approvals = append(j.approvals, made)
	answerJSON(w, made)
}

func (j *jobCluster) serveRun(w http.ResponseWriter, r *http.Request) {
	found := j.runs[r.PathValue("name")]
	if found == nil {
		notThere(w)
		return
	}
	if r.Method != http.MethodPatch {
		if j.looks++; j.looked != nil {
			j.looked(j.looks, found)
		}
	} else if !patch(w, r, found) {
		return
	}
	answerJSON(w, found)
}

// add adds a run with a status.
func (j *jobCluster) add(name string, age time.Duration, change func(r *v1alpha1.JobRun)) {
	r := &v1alpha1.JobRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, CreationTimestamp: metav1.NewTime(time.Now().Add(-age))},
		Spec:       v1alpha1.JobRunSpec{Workspace: "web", Action: "deploy"},
	}
	change(r)
	j.runs[name] = r
}

// chunk stores a chunk of the output of a hold.
func (j *jobCluster) chunk(t *testing.T, fence int64, content string) {
	t.Helper()
	key := blob.Key{Workspace: "w", Fence: fence, Name: "log-stdout-0000000001"}
	require.NoError(t, j.store.Put(t.Context(), key, strings.NewReader("{}\n"+content)))
}

// call runs orcon job.
func (j *jobCluster) call(in string, args ...string) (code int, out, errs string) {
	return call(in, append(append([]string{"job"}, args...), j.args...)...)
}

// folder returns a folder with files.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	at := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(at, name), []byte(text), 0o600))
	}
	return at
}

// push pushes files, which succeeds.
func (j *jobCluster) push(t *testing.T, files map[string]string) {
	t.Helper()
	code, out, errs := j.call("", "state", "push", "web", folder(t, files), "--because", "test", "--yes")
	require.Zero(t, code, out+errs)
}

// lose has a run be lost, which stored a checkpoint of files.
func (j *jobCluster) lose(t *testing.T, files map[string]string) {
	t.Helper()
	// The checkpoint is one that another JobWorkspace has packed.
	other := newJobCluster(t)
	other.push(t, files)
	made := other.World.Workspace("w").State
	r := workspace.Run{UID: "r", Name: "web-2"}
	j.change(t, func(w workspace.Workspace) (workspace.Workspace, error) {
		return w.Acquire(workspace.Admission{Run: r, Published: w.Last.Fence, Now: time.Now()})
	})
	key, err := blob.ParseKey(made.Key)
	require.NoError(t, err)
	in, err := other.store.Get(t.Context(), key)
	require.NoError(t, err)
	defer in.Close()
	content, err := io.ReadAll(in)
	require.NoError(t, err)
	key.Fence = j.World.Workspace("w").Lock.Fence
	require.NoError(t, j.store.Put(t.Context(), key, strings.NewReader(string(content))))
	j.change(t, func(w workspace.Workspace) (workspace.Workspace, error) {
		w, err := w.Claim(workspace.Start{Run: r, Attempt: 1, Claimant: workspace.Claimant{ID: "p", Where: "node n3"}})
		require.NoError(t, err)
		w, err = w.Save(workspace.Save{Run: r, Checkpoint: workspace.Checkpoint{
			Sequence: 4, Blob: workspace.Blob{Digest: made.Digest, Key: key.String(), Fence: key.Fence},
		}})
		require.NoError(t, err)
		return w.Lose(workspace.Evidence{Fence: key.Fence, Vanished: true})
	})
}

// end sets the end of a run.
func end(r *v1alpha1.JobRun, phase v1alpha1.JobRunPhase, message string, exit *v1alpha1.JobExit) {
	r.Status.Phase, r.Status.Attempt = phase, 1
	r.State = &v1alpha1.JobRunState{End: &v1alpha1.JobRunEnd{
		Phase: phase, Reason: string(phase), Message: message, Outcome: v1alpha1.OutcomeCommitted, Exit: exit, Attempt: 1, Fence: r.Status.Fence,
	}}
}

// The template of the tests is one that runs can be frozen from.
func TestJobTemplateOfTests(t *testing.T) {
	_, err := convert.ToTemplate(&newJobCluster(t).template)
	require.NoError(t, err)
}

// What a command line lacks is asked for, with an example or the words that there are.
func TestJobArguments(t *testing.T) {
	j := newJobCluster(t)
	j.add("web-1", time.Minute, func(r *v1alpha1.JobRun) { r.Status.Fence = 1; end(r, "Succeeded", "it succeeded", nil) })
	tests := map[string]struct {
		args []string
		errs string
	}{
		"NoAction":      {[]string{"run", "web"}, "the flag --action is missing: template tofu has check, deploy"},
		"Action":        {[]string{"run", "web", "--action", "deplyo"}, `it has no action "deplyo" (did you mean "deploy"?)`},
		"Parameter":     {[]string{"run", "web", "--action", "deploy", "--set", "replicas=many"}, "replicas"},
		"Unset":         {[]string{"run", "web", "--action", "deploy", "--set", "replicas"}, `--set "replicas" is not NAME=VALUE`},
		"Timeout":       {[]string{"run", "web", "--action", "deploy", "--timeout", "5ms"}, "--timeout must be at least 1s"},
		"NoWorkspace":   {[]string{"run", "wbe", "--action", "deploy"}, "there is no JobWorkspace shop/wbe: kubectl get jobworkspaces -A lists"},
		"NoRun":         {[]string{"cancel", "x"}, "there is no JobRun shop/x: orcon job runs -n shop lists"},
		"NoLog":         {[]string{"logs", "x"}, "cannot find JobRun x: there is no such object"},
		"Attempt":       {[]string{"logs", "web-1", "--attempt", "3"}, "it has 1 attempt, not 3"},
		"File":          {[]string{"logs", "web-1", "--file", "/logs/a"}, `there is no "/logs/a": nothing is stored of this attempt`},
		"Namespace":     {[]string{"logs", "other/x"}, `"other/x" is not in namespace shop: leave -n out`},
		"Name":          {[]string{"logs", "a/b/c"}, `"a/b/c" is not`},
		"Because":       {[]string{"unlock", "web"}, "the flag --because is missing: give the reason"},
		"Remedies":      {[]string{"unlock", "web", "--because", "x", "--retry", "--discard"}, "cannot use several of --accept, --retry and --discard"},
		"Accept":        {[]string{"unlock", "web", "--because", "x", "--accept", "it"}, `--accept "it" is unknown: use generation, checkpoint or orphan`},
		"Orphan":        {[]string{"unlock", "web", "--because", "x", "--accept", "orphan"}, "--accept orphan needs --orphan DIGEST"},
		"NotLost":       {[]string{"unlock", "web", "--because", "x"}, "needs no unlocking: Ready: the lock is free, and generation 0 is current"},
		"NotTorn":       {[]string{"state", "accept", "web", "--because", "x"}, "needs no acceptance of its state: Ready"},
		"Store":         {[]string{"state", "accept", "web", "--because", "x", "--store", "own"}, `--store "own" is unknown: use newest or ignore`},
		"NothingBefore": {[]string{"state", "rollback", "web", "--because", "x"}, "no earlier generation is kept"},
		"NoSuchState":   {[]string{"state", "pull", "web", t.TempDir(), "9"}, `JobWorkspace shop/web has no state "9": orcon job state show web -n shop lists them`},
		"NoFolder":      {[]string{"state", "push", "web", "/nowhere", "--because", "x"}, "cannot capture the state"},
		"NoSecond":      {[]string{"state", "diff", "web"}, "has no second state to compare with"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			code, out, errs := j.call("", tc.args...)
			assert.Equal(t, exitMisuse, code, out)
			assert.Contains(t, errs, tc.errs)
		})
	}
	assert.Len(t, j.runs, 1, "nothing was created")
	_, _, errs := call("", "job", "log", "web-1")
	assert.Contains(t, errs, `unknown command "log" (did you mean logs?)`)
	for said, args := range map[string][]string{
		`unknown command "stat" (did you mean state?): see orcon job --help`:          {"job", "stat", "show", "x", "-n", "shop"},
		`unknown command "lst" (did you mean list?): see orcon job node --help`:       {"job", "node", "lst", "-o", "json"},
		`unknown command "pusch" (did you mean push?): see orcon job template --help`: {"job", "template", "pusch", ".", "--template", "web"},
		`unknown shorthand flag: 'n' in -n: see orcon job --help`:                     {"job", "-n", "shop"},
	} {
		_, _, errs := call("", args...)
		assert.Equal(t, "orcon: "+said+"\n", errs)
	}
}

// A cluster without the job controller is an answer with a cure.
func TestJobsNotInstalled(t *testing.T) {
	server := answering(t, nil)
	_, _, errs := call("", append([]string{"job", "runs"}, server...)...)
	assert.Contains(t, errs, "the cluster has no JobWorkspaces: the job controller of Orcon is not installed")
	for _, args := range [][]string{{"logs", "web-1"}, {"state", "show", "web"}} {
		_, _, errs = call("", append(append([]string{"job"}, args...), plain404(t)...)...)
		assert.Contains(t, errs, "the cluster does not serve jobs.orcon.tengu.io/v1alpha1: the job controller of Orcon is not installed, or its APIService is missing")
	}
}

// plain404 is an API server that answers as a real one does for a group that it does not serve.
func plain404(t *testing.T) []string {
	t.Helper()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	return []string{"--kubeconfig", write(t, "config", fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: a,
clusters: [{name: a, cluster: {server: %q}}], contexts: [{name: a, context: {cluster: a}}]}`, server.URL))}
}
