package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
	"gitlab.ilabt.imec.be/tengu/orcon/test/chaos"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// The times of the runs.
const (
	lostAfter   = 2 * time.Second
	cancelGrace = time.Second
	stuck       = lostAfter + cancelGrace + 25*time.Second
)

// chaosScript adds lines to the state, and notes outside what it does.
const chaosScript = `trap 'exit 0' TERM
f="$ORCON_STATE/lines"
note() { echo "$ORCON_RUN $1 $2" >> "$OUT/$ORCON_WORKSPACE"; }
note begins $(cat "$f" 2>/dev/null | wc -c)
for i in 1 2 3 4; do
  note writes $i; echo "$ORCON_RUN $i" >> "$f"; echo "$ORCON_RUN $i"; note wrote $i
  sleep 0.15
done`

// upheaval is a cluster with a controller, whose parts have trouble.
type upheaval struct {
	t          testing.TB
	cluster    *controlplane.Cluster
	client     client.Client
	folder     string
	link       *chaos.Link
	courier    *chaos.Courier
	controller *process
	tally      *chaos.Tally
	lanes      []*lane
	// bar is how long a run may take to end after its last sign of life, or after the last fault.
	bar time.Duration

	mutex sync.Mutex
	// healed is when the last trouble of all was over for the controller, and back the longest time that took it.
	healed time.Time
	back   time.Duration
}

// probeName is a Workspace without a template, by which it shows whether the controller works.
const probeName = "probe"

// newUpheaval starts a cluster and a controller with Workspaces, every second one of which is exclusive.
func newUpheaval(t testing.TB, lanes int) *upheaval {
	t.Helper()
	u := &upheaval{t: t, cluster: controlplane.Start(t), folder: t.TempDir(), tally: &chaos.Tally{}, bar: stuck}
	for _, name := range []string{"store", "received", "attempts", "out"} {
		require.NoError(t, os.Mkdir(u.path(name), 0o700))
	}
	define(t, u.cluster)
	var err error
	u.client, err = client.New(u.cluster.Config(t), client.Options{Scheme: chaosScheme()})
	require.NoError(t, err)
	at, err := url.Parse(u.cluster.APIServer)
	require.NoError(t, err)
	u.link, err = chaos.NewLink(func() []string { return []string{at.Host} })
	require.NoError(t, err)
	t.Cleanup(u.link.Close)
	port := controlplane.FreePort(t)
	u.courier, err = chaos.NewCourier(fmt.Sprintf("http://127.0.0.1:%d", port))
	require.NoError(t, err)
	t.Cleanup(u.courier.Close)
	u.controller = &process{
		Kubeconfig: u.cluster.Kubeconfig, APIServer: u.link.Address(), Namespace: u.cluster.NewNamespace(t, "chaos-"), Port: port,
		Courier: u.courier.Address(), Store: u.path("store"), Received: u.path("received"), Attempts: u.path("attempts"),
		Trouble: u.path("trouble"), Runner: controlplane.Binary(t, "job-runner"), Log: u.path("controller.log"), Renew: "600ms",
	}
	u.make(lanes)
	t.Cleanup(func() {
		u.controller.end()
		for _, l := range u.lanes {
			l.endProcesses()
		}
		u.explain()
	})
	require.NoError(t, u.controller.start())
	return u
}

func (u *upheaval) path(name string) string { return filepath.Join(u.folder, name) }

func chaosScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	if err := errors.Join(clientscheme.AddToScheme(s), v1alpha1.AddToScheme(s)); err != nil {
		panic(err)
	}
	return s
}

// make makes the templates and the Workspaces.
func (u *upheaval) make(lanes int) {
	u.t.Helper()
	for _, safety := range []v1alpha1.JobSafety{"Idempotent", "Exclusive"} {
		require.NoError(u.t, u.client.Create(u.t.Context(), &v1alpha1.JobTemplate{
			ObjectMeta: u.named(strings.ToLower(string(safety))),
			Spec: v1alpha1.JobTemplateSpec{JobProgram: v1alpha1.JobProgram{
				Image: "registry/script@sha256:" + strings.Repeat("a", 64), Contract: run.Contract, Safety: safety,
				Actions: []v1alpha1.JobAction{
					{Name: "deploy", Entrypoint: []string{"/bin/sh", "-c", chaosScript}},
					{Name: "start", Entrypoint: []string{"/bin/sh", "-c", `date +%s%N > "$OUT/started-$ORCON_RUN"`}},
				},
				Env: []v1alpha1.JobVariable{{Name: "OUT", Value: u.path("out")}},
			}},
		}))
	}
	require.NoError(u.t, u.client.Create(u.t.Context(), &v1alpha1.JobWorkspace{
		ObjectMeta: u.named(probeName), Spec: v1alpha1.JobWorkspaceSpec{Template: "none"},
	}))
	for i := range lanes {
		o := &v1alpha1.JobWorkspace{ObjectMeta: u.named(fmt.Sprintf("w%02d", i)), Spec: v1alpha1.JobWorkspaceSpec{
			Template: []string{"idempotent", "exclusive"}[i%2], LostAfter: &metav1.Duration{Duration: lostAfter},
			CancelGracePeriod: &metav1.Duration{Duration: cancelGrace},
		}}
		require.NoError(u.t, u.client.Create(u.t.Context(), o))
		u.lanes = append(u.lanes, &lane{upheaval: u, name: o.Name, uid: string(o.UID)})
	}
}

func (u *upheaval) named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: u.controller.Namespace, Name: name}
}

// disturb has a part that all runs need in trouble for a while.
func (u *upheaval) disturb(s chaos.Step) error {
	u.tally.Seen(s.Kind)
	err := u.trouble(s)
	return errors.Join(err, u.heal())
}

// trouble has a part in trouble for a while.
func (u *upheaval) trouble(s chaos.Step) error {
	outage := s.Outage(3 * time.Second)
	wait := func() { <-time.After(outage) }
	switch s.Kind {
	case chaos.ControllerKilled:
		u.controller.end()
		wait()
		return u.controller.start()
	case chaos.ControllerFrozen:
		err := u.controller.command.Process.Signal(syscall.SIGSTOP)
		wait()
		return errors.Join(err, u.controller.command.Process.Signal(syscall.SIGCONT))
	case chaos.ControllerCut:
		u.link.Cut()
		wait()
		u.link.Mend()
	case chaos.APIServerSlow:
		u.link.Slow(300 * time.Millisecond)
		wait()
		u.link.Slow(0)
	case chaos.APIServerKilled, chaos.EtcdKilled:
		return u.restart(s.Kind, wait)
	default:
		err := os.WriteFile(u.controller.Trouble, []byte(s.Kind), 0o600)
		wait()
		return errors.Join(err, os.Remove(u.controller.Trouble))
	}
	return nil
}

// restart kills a part of the control plane, and starts it again after a while.
func (u *upheaval) restart(kind chaos.Kind, wait func()) error {
	component := map[chaos.Kind]string{chaos.APIServerKilled: "kube-apiserver", chaos.EtcdKilled: "etcd"}[kind]
	u.cluster.Kill(u.t, component)
	wait()
	u.cluster.StartComponent(u.t, component)
	return poll(time.Minute, func() bool {
		return u.client.List(context.Background(), &corev1.NamespaceList{}) == nil
	})
}

// heal waits until the controller sees what is new, and notes when.
func (u *upheaval) heal() error {
	over, probe := time.Now(), &v1alpha1.JobWorkspace{ObjectMeta: u.named(probeName)}
	changed, seen := false, func() bool {
		err := u.client.Get(context.Background(), client.ObjectKeyFromObject(probe), probe)
		return err == nil && probe.Status.ObservedGeneration == probe.Generation
	}
	err := poll(hopeless, func() bool {
		if !changed {
			_ = seen()
			probe.Spec.KeepGenerations = 1 + probe.Spec.KeepGenerations%100
			changed = u.client.Update(context.Background(), probe) == nil
		}
		return changed && seen()
	})
	u.mutex.Lock()
	defer u.mutex.Unlock()
	u.healed = time.Now()
	u.back = max(u.back, time.Since(over))
	if err != nil {
		return fmt.Errorf("the controller does not come back: %w", err)
	}
	return nil
}

func (u *upheaval) lastHealed() time.Time {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	return u.healed
}

// errSlow means that something did not come about in time.
var errSlow = errors.New("it does not come about")

// poll waits until a condition is met.
func poll(limit time.Duration, met func() bool) error {
	ticks := time.NewTicker(20 * time.Millisecond)
	defer ticks.Stop()
	end := time.Now().Add(limit)
	for !met() {
		if time.Now().After(end) {
			return errSlow
		}
		<-ticks.C
	}
	return nil
}

// decide sends a person's decision to the controller.
func (u *upheaval) decide(name string, d wire.Decision) error {
	d.Because = "a test kills what runs"
	text, err := json.Marshal(d)
	if err != nil {
		return err
	}
	path := wire.Path(u.controller.Namespace, wire.Workspaces, name, wire.Decisions)
	answer, err := http.Post(fmt.Sprintf("http://127.0.0.1:%d%s", u.controller.Port, path), "application/json", bytes.NewReader(text))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the decision is answered by %s", answer.Status)
	}
	return nil
}

// create makes a Run, also while the API server is away.
func (u *upheaval) create(o *v1alpha1.JobRun) error {
	var err error
	made := func() bool {
		// It may be there already: the answer to the first try was lost.
		err = u.client.Create(context.Background(), o.DeepCopy())
		if err == nil || apierrors.IsAlreadyExists(err) {
			err = u.client.Get(context.Background(), client.ObjectKeyFromObject(o), o)
		}
		return err == nil
	}
	return errors.Join(poll(time.Minute, made), err)
}

// explain shows how the log of the controller ends if the test has failed.
func (u *upheaval) explain() {
	if text, err := os.ReadFile(u.controller.Log); err == nil && u.t.Failed() {
		u.t.Logf("…%s", text[max(0, len(text)-3000):])
	}
}
