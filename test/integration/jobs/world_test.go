package jobs

import (
	"context"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/directory"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/jobprocess"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/jobs"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	controller "gitlab.ilabt.imec.be/tengu/orcon/controller/job"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/approval"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// limit is how long anything may take, as in the other packages.
const limit = 2 * time.Minute

// world is a namespace with template script, whose program is a shell script, and Workspace db.
type world struct {
	*ports

	t         *testing.T
	cluster   *controlplane.Cluster
	namespace string
	// outside is the folder that scripts have as $OUT.
	outside  string
	store    blob.Store
	executor *jobprocess.Machine
	// ahead is how far the controller's clock is ahead.
	ahead      atomic.Int64
	controller context.CancelFunc
	ended      chan error
}

// newWorld makes a world. The script finds a folder that outlives the run in $OUT.
func newWorld(t *testing.T, script string, change ...func(*v1alpha1.JobWorkspace)) *world {
	t.Helper()
	return newWorldWith(t, func(folder blob.Store) blob.Store { return folder }, script, change...)
}

// newWorldWith makes a world whose store is a directory, or another one in its place.
func newWorldWith(t *testing.T, choose func(folder blob.Store) blob.Store, script string, change ...func(*v1alpha1.JobWorkspace)) *world {
	t.Helper()
	c := controlplane.Shared(t)
	define(t, c)
	w := &world{t: t, cluster: c, namespace: c.NewNamespace(t, "jobs-"), outside: t.TempDir(), ports: &ports{tokens: map[string]serve.Caller{}, signs: map[string]controller.Sign{}}}
	var err error
	w.client, err = client.New(c.Config(t), client.Options{Scheme: scheme(t)})
	require.NoError(t, err)
	store, err := directory.Open(filepath.Join(t.TempDir(), "blobs"))
	require.NoError(t, err)
	w.store = choose(store)
	objects := jobs.Objects{Cache: indexed{w.client}, Live: w.client}
	api := httptest.NewServer((&serve.API{
		Workspaces: jobs.Workspaces{Objects: objects, Writer: w.client}, Runs: jobs.Runs{Objects: objects, Writer: w.client},
		Renewals: w.ports, Callers: w.ports, Store: w.store, Limits: serve.DefaultLimits(), Clock: time.Now,
	}).Handler())
	w.executor = &jobprocess.Machine{
		Folder: t.TempDir(), Command: []string{controlplane.Binary(t, "job-runner")}, Address: api.URL, Identify: w.identify,
		Keeper: []string{"--renew", "200ms", "--retry", "50ms", "--checkpoint", "1h", "--drain", "2s"},
	}
	t.Cleanup(func() {
		w.stop()
		w.killAll()
		api.Close()
		_ = store.Close()
	})
	w.create(&v1alpha1.JobTemplate{ObjectMeta: w.named("script"), Spec: v1alpha1.JobTemplateSpec{JobProgram: v1alpha1.JobProgram{
		Image: "registry/script@sha256:" + strings.Repeat("a", 64), Contract: run.Contract,
		Actions: append(planning(),
			v1alpha1.JobAction{Name: "deploy", Entrypoint: []string{"/bin/sh", "-c", script}},
			v1alpha1.JobAction{Name: "destroy", Entrypoint: []string{"/bin/sh", "-c", `cp "$ORCON_STATE/lines" "$OUT/destroyed"`}}),
		Env: []v1alpha1.JobVariable{{Name: "OUT", Value: w.outside}},
	}}})
	o := &v1alpha1.JobWorkspace{ObjectMeta: w.named("db"), Spec: v1alpha1.JobWorkspaceSpec{Template: "script"}}
	for _, one := range change {
		one(o)
	}
	w.create(o)
	w.start()
	return w
}

// defined is locked while the definitions are applied.
var defined sync.Mutex //nolint:gochecknoglobals // the cluster is shared

// define applies the definitions.
func define(t testing.TB, c *controlplane.Cluster) {
	t.Helper()
	defined.Lock()
	defer defined.Unlock()
	root, err := controlplane.Root()
	require.NoError(t, err)
	c.Kubectl(t, "apply", "-k", filepath.Join(root, "deployment", "crd"))
	c.Established(t)
}

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	require.NoError(t, errors.Join(corev1.AddToScheme(s), v1alpha1.AddToScheme(s)))
	return s
}

func (w *world) named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.namespace, Name: name}
}

func (w *world) create(o client.Object) {
	w.t.Helper()
	require.NoError(w.t, w.client.Create(w.t.Context(), o))
}

// start starts a controller, stop ends it.
func (w *world) start() {
	w.t.Helper()
	m, err := manager.New(w.cluster.Config(w.t), manager.Options{
		Scheme: scheme(w.t), Metrics: server.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: new(true)},
		Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{w.namespace: {}}},
	})
	require.NoError(w.t, err)
	began := time.Now()
	r := &controller.Reconciler{
		Client: m.GetClient(), Reader: m.GetAPIReader(), Executor: w.executor, Store: w.store, Signs: w.ports, Events: events.NewFakeRecorder(10_000),
		ClaimWait: controller.DefaultClaimWait,
		Now:       time.Now, Clock: func() time.Duration { return time.Since(began) + time.Duration(w.ahead.Load()) },
		Variables: map[string]string{"VAULT_ADDR": "https://vault"},
	}
	approvals := &approval.Reconciler{Client: m.GetClient(), Reader: m.GetAPIReader(), Now: time.Now}
	require.NoError(w.t, errors.Join(r.SetupWithManager(m), approvals.SetupWithManager(m)))
	ctx, stop := context.WithCancel(context.Background())
	w.controller, w.ended = stop, make(chan error, 1)
	go func() { w.ended <- m.Start(ctx) }()
}

func (w *world) stop() {
	w.controller()
	if err := <-w.ended; err != nil {
		w.t.Error(err)
	}
	w.ended <- nil
}

// killAll kills all processes that are left.
func (w *world) killAll() {
	files, _ := filepath.Glob(filepath.Join(w.executor.Folder, "*", "*.pid"))
	for _, file := range files {
		w.kill(file)
	}
}

// kill kills the process whose PID a file has.
func (w *world) kill(file string) {
	text, err := os.ReadFile(file)
	if pid, bad := strconv.Atoi(string(text)); err == nil && bad == nil {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// run creates a Run of action deploy.
func (w *world) run(name string, change ...func(*v1alpha1.JobRun)) {
	w.t.Helper()
	o := &v1alpha1.JobRun{ObjectMeta: w.named(name), Spec: v1alpha1.JobRunSpec{Workspace: "db", Action: "deploy"}}
	for _, one := range change {
		one(o)
	}
	w.create(o)
}

// next waits until a Run is older than one that is created then: creation times have seconds.
func (w *world) next(name string) {
	w.t.Helper()
	second := w.get(name).CreationTimestamp.Add(time.Second)
	controlplane.Eventually(w.t, func() bool { return time.Now().After(second) }, limit)
}

// get reads a Run, workspace the Workspace.
func (w *world) get(name string) *v1alpha1.JobRun {
	w.t.Helper()
	o := &v1alpha1.JobRun{}
	require.NoError(w.t, w.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, o))
	return o
}

func (w *world) workspace() *v1alpha1.JobWorkspace {
	w.t.Helper()
	o := &v1alpha1.JobWorkspace{}
	require.NoError(w.t, w.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "db"}, o))
	return o
}

// edit changes the Workspace by a patch, which does not fail when the controller has written it meanwhile.
func (w *world) edit(change func(*v1alpha1.JobWorkspace)) error {
	w.t.Helper()
	o := w.workspace()
	before := client.MergeFrom(o.DeepCopy())
	change(o)
	return w.client.Patch(w.t.Context(), o, before)
}

// shown returns the condition that is true, as "type reason: message".
func shown(all []metav1.Condition) string {
	for _, kind := range []string{"Stalled", "Reconciling", "Ready"} {
		if c := meta.FindStatusCondition(all, kind); c != nil && c.Status == metav1.ConditionTrue {
			return kind + " " + c.Reason + ": " + c.Message
		}
	}
	return ""
}

// reaches waits until the condition of a Run begins so.
func (w *world) reaches(name, want string) {
	w.t.Helper()
	last := ""
	reached := func() bool {
		last = shown(w.get(name).Status.Conditions)
		return last != "" && strings.HasPrefix(last, want)
	}
	err := poll(limit, reached)
	require.NoError(w.t, err, "%s does not reach %q: it has %q", name, want, last)
}

// out returns a file that scripts write, write makes one.
func (w *world) out(name string) string {
	w.t.Helper()
	text, _ := os.ReadFile(filepath.Join(w.outside, name))
	return string(text)
}

func (w *world) write(name string) {
	w.t.Helper()
	require.NoError(w.t, os.WriteFile(filepath.Join(w.outside, name), nil, 0o600))
}
