package docker_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moby/moby/client"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kube "sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/directory"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/test/chaos"
	"gitlab.ilabt.imec.be/tengu/orcon/test/chaos/shelf"
	"gitlab.ilabt.imec.be/tengu/orcon/test/docker"
)

// The times of runs that meet faults.
const (
	chaosLost  = 10 * time.Second
	chaosGrace = 5 * time.Second
	chaosBar   = chaosLost + chaosGrace + 25*time.Second
)

// upheaval is a machine elsewhere each of whose runs meets a fault.
type upheaval struct {
	*field

	objects  kube.Client
	engine   *client.Client
	tally    *chaos.Tally
	journals string
	lanes    []*lane
	// longest is how long a trouble lasts at most, bar how long a run may take to end after its last sign of life, or after
	// the last trouble.
	longest, bar time.Duration

	mutex sync.Mutex
	// healed is when the last trouble was over for the controller, back the longest time that took it.
	healed time.Time
	back   time.Duration
}

// Runs follow each other in JobWorkspaces of a machine elsewhere, each with a fault at some moment: containers, the agent,
// the Docker engine and the controller are killed, the machine reboots, its network and that of the controller are cut, and
// the store is away. No commit is lost, none is done twice, no run is stuck, no two programs of a JobWorkspace run at once,
// and logs show their holes (JOBS.md J1, J3, J4, J6, J9, J11 and J13).
func TestChaos(t *testing.T) {
	setting := func(name string, otherwise int) int {
		if text, set := os.LookupEnv(name); set {
			n, err := strconv.Atoi(text)
			require.NoError(t, err, name)
			return n
		}
		return otherwise
	}
	seed, runs, lanes := setting("SEED", 1), setting("RUNS", 8), setting("LANES", 4)
	u := &upheaval{field: newField(t), engine: engine(t), tally: &chaos.Tally{}, longest: 40 * time.Second, bar: chaosBar}
	if _, chosen := os.LookupEnv("RUNS"); !chosen { // beside other tests the machine is too busy for a time to mean something
		u.longest, u.bar = 10*time.Second, patience
	}
	u.prepare(lanes)
	var shares []chaos.Share
	for _, kind := range []chaos.Kind{
		chaos.ContainerKilled, chaos.AgentKilled, chaos.AgentCut, chaos.EngineKilled, chaos.NodeRebooted, chaos.ControllerKilled,
		chaos.ControllerCut, chaos.StoreDown,
	} {
		shares = append(shares, chaos.Share{Kind: kind, Times: map[bool]int{true: 2, false: 1}[kind == chaos.ContainerKilled]})
	}
	plan, own := chaos.NewPlan(uint64(seed), shares...), chaos.NewPlan(uint64(seed)+1<<32, chaos.Share{Kind: chaos.ContainerKilled, Times: 1})
	for n := range runs / lanes {
		assert.NoError(t, u.round(n, plan.Next(), own))
		if t.Failed() {
			break
		}
	}
	u.report(seed)
	u.judge()
}

// prepare makes the journals and the JobWorkspaces, and has the machine join. Every second JobWorkspace is exclusive.
func (u *upheaval) prepare(lanes int) {
	t := u.t
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	var err error
	u.objects, err = kube.New(u.Config(t), kube.Options{Scheme: scheme})
	require.NoError(t, err)
	u.journals = t.TempDir()
	notes := &http.Server{Handler: http.HandlerFunc(u.note), ReadHeaderTimeout: time.Minute}
	listener := docker.Listen(t)
	go func() { _ = notes.Serve(listener) }()
	image := docker.Push(t, filepath.Join(docker.Folder(), busyboxName))[0]
	for _, safety := range []string{"Idempotent", "Exclusive"} {
		u.apply(fmt.Sprintf(chaosTemplate, strings.ToLower(safety), image, safety, docker.Gateway, docker.ServicePort))
	}
	u.apply("apiVersion: orcon.tengu.io/v1alpha1\nkind: JobWorkspace\nmetadata: {name: probe, namespace: shop}\nspec: {template: none}\n")
	u.joins()
	for i := range lanes {
		l := &lane{upheaval: u, exclusive: i%2 == 1}
		l.Name = fmt.Sprint("chaos-", i)
		o := &v1alpha1.JobWorkspace{ObjectMeta: u.named(l.Name), Spec: v1alpha1.JobWorkspaceSpec{
			Template:  "chaos-" + map[bool]string{true: "exclusive", false: "idempotent"}[l.exclusive],
			Target:    &v1alpha1.JobTarget{RunNode: v1alpha1.JobNodeTarget{Name: lab}},
			LostAfter: &metav1.Duration{Duration: chaosLost}, CancelGracePeriod: &metav1.Duration{Duration: chaosGrace},
			State: &v1alpha1.JobStatePolicy{Encryption: v1alpha1.EncryptionDisabled},
		}}
		require.NoError(t, u.objects.Create(t.Context(), o))
		l.UID = string(o.UID)
		u.lanes = append(u.lanes, l)
	}
}

func (u *upheaval) named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: shop, Name: name}
}

// note adds a line to the journal of a JobWorkspace. No fault reaches the journals.
func (u *upheaval) note(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	workspace, line, _ := strings.Cut(string(text), " ")
	u.mutex.Lock()
	defer u.mutex.Unlock()
	var file *os.File
	if err == nil {
		file, err = os.OpenFile(filepath.Join(u.journals, filepath.Base(workspace)), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	}
	if err == nil {
		_, err = fmt.Fprintln(file, line)
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// round carries a run in each lane. They have one trouble, or each has its container killed at a moment of its own.
func (u *upheaval) round(n int, s chaos.Step, own *chaos.Plan) error {
	errs := make([]error, len(u.lanes)+1)
	var all sync.WaitGroup
	over, first := make(chan struct{}), make(chan struct{})
	for i, l := range u.lanes {
		one := own.Next()
		all.Go(func() {
			if i == 0 {
				defer close(first)
			}
			errs[i] = l.carry(n, one, s.Kind == chaos.ContainerKilled, over)
		})
	}
	if s.Kind != chaos.ContainerKilled {
		moment, after := s.Moment()
		_ = poll(func() bool {
			select {
			case <-first:
				return true
			default:
				return u.lanes[0].reached(n, moment)
			}
		})
		<-time.After(after)
		errs[len(u.lanes)] = u.disturb(s)
	}
	close(over)
	all.Wait()
	return errors.Join(errs...)
}

// disturb has a part that all runs need in trouble for a while.
func (u *upheaval) disturb(s chaos.Step) error {
	u.tally.Seen(s.Kind)
	wait := func() { <-time.After(s.Outage(u.longest)) }
	switch s.Kind {
	case chaos.AgentKilled:
		u.kill(u.agent)
		wait()
		u.startAgent()
	case chaos.AgentCut:
		u.wire.Cut()
		wait()
		u.wire.Mend()
	case chaos.EngineKilled:
		docker.Restart(u.t)
	case chaos.NodeRebooted:
		u.kill(u.agent)
		docker.Reboot(u.t)
		u.startAgent()
	case chaos.ControllerKilled:
		u.kill(u.controller)
		wait()
		u.startController()
	case chaos.ControllerCut:
		u.link.Cut()
		wait()
		u.link.Mend()
	default:
		incoming := filepath.Join(u.states, ".incoming")
		err := os.Chmod(incoming, 0o500)
		wait()
		if err = errors.Join(err, os.Chmod(incoming, 0o700)); err != nil {
			return err
		}
	}
	return u.heal()
}

// heal waits until the controller sees what is new, and notes when.
func (u *upheaval) heal() error {
	over, probe := time.Now(), &v1alpha1.JobWorkspace{ObjectMeta: u.named("probe")}
	changed := false
	err := poll(func() bool {
		if u.objects.Get(context.Background(), kube.ObjectKeyFromObject(probe), probe) != nil {
			return false
		}
		if !changed {
			probe.Spec.KeepGenerations = 1 + probe.Spec.KeepGenerations%100
			changed = u.objects.Update(context.Background(), probe) == nil
		}
		return changed && probe.Status.ObservedGeneration == probe.Generation
	})
	u.mutex.Lock()
	defer u.mutex.Unlock()
	u.healed = time.Now()
	u.back = max(u.back, u.healed.Sub(over))
	return err
}

// report shows what came about.
func (u *upheaval) report(seed int) {
	runs, missed, longest, ends := 0, 0, time.Duration(0), map[string]int{}
	for _, l := range u.lanes {
		runs += len(l.Ends)
		missed += l.missed
		longest = max(longest, l.longest)
		for _, e := range l.Ends {
			ends[string(e.End.Outcome)]++
		}
	}
	u.t.Logf("seed %d: %d runs as containers, %d of which had ended before their fault; the longest took %s to end after its last "+
		"sign of life; the controller came back within %s\n%s\nended: %v",
		seed, runs, missed, longest.Round(100*time.Millisecond), u.back.Round(100*time.Millisecond), u.tally, ends)
}

// judge compares what is stored with what the runs noted, while the controller is away.
func (u *upheaval) judge() {
	u.t.Helper()
	assert.NoError(u.t, poll(func() bool { return u.offers() == "" }), "an offer is left")
	u.kill(u.controller)
	store, err := directory.Open(u.states)
	require.NoError(u.t, err)
	defer store.Close()
	var all []shelf.Lane
	for _, l := range u.lanes {
		l.Journal, _ = l.journal()
		all = append(all, l.Lane)
	}
	u.t.Logf("0 lost commits and 0 double commits unless a fault is shown; %d logs show as cut off", shelf.Judge(u.t, store, all))
}

// poll waits until a condition is met.
func poll(met func() bool) error {
	for began := time.Now(); !met(); <-time.After(100 * time.Millisecond) {
		if time.Since(began) > patience {
			return errors.New("it does not come about")
		}
	}
	return nil
}

// chaosTemplate adds lines to the state, and notes outside what it does.
const chaosTemplate = `
apiVersion: orcon.tengu.io/v1alpha1
kind: JobTemplate
metadata: {name: chaos-%[1]s, namespace: shop}
spec:
  image: %[2]s
  contract: v1
  safety: %[3]s
  actions:
    - name: deploy
      entrypoint: [sh, -ec]
      args:
        - |
          trap 'exit 0' TERM
          f=$ORCON_STATE/lines
          note() { wget -q -O- --post-data="$ORCON_WORKSPACE $ORCON_RUN $1 $2" http://%[4]s:%[5]s/; }
          note begins $(cat "$f" 2>/dev/null | wc -c)
          for i in 1 2 3 4; do
            note writes $i; echo "$ORCON_RUN $i" >>"$f"; echo "$ORCON_RUN $i"; note wrote $i
            sleep 0.3
          done
`
