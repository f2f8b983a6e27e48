package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/directory"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/job"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
	"gitlab.ilabt.imec.be/tengu/orcon/test/chaos"
	"gitlab.ilabt.imec.be/tengu/orcon/test/chaos/shelf"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// The times of runs that meet faults.
const (
	chaosLost  = 10 * time.Second
	chaosGrace = 5 * time.Second
	chaosBar   = chaosLost + chaosGrace + 25*time.Second
)

// upheaval is a cluster in which each run meets a fault.
type upheaval struct {
	*world
	tally *chaos.Tally
	// journals is a folder with a file for each JobWorkspace. No fault of a run reaches it.
	journals string
	lanes    []*lane
	// bar is how long a run may take to end after its last sign of life, or after the last fault.
	bar time.Duration
	// healed is when the last trouble of all was over for the controller, in Unix nanoseconds; back is the longest time that
	// took it.
	healed atomic.Int64
	back   time.Duration
}

// lane is a JobWorkspace whose runs follow each other.
type lane struct {
	*upheaval
	shelf.Lane
	safety  job.Safety
	longest time.Duration
	missed  int
	// accepted is the last run whose checkpoint was accepted.
	accepted string
}

// chaosOnPods carries runs as Jobs, each with a fault at some moment: keepers, containers and programs are killed, pods are
// deleted, with grace and without, and the controller, the store and the API server go away. No commit is lost, none is done
// twice, no run is stuck, no two programs of a JobWorkspace run at once, and logs show their holes (JOBS.md J1, J3, J4, J6,
// J9, J10 and J11).
func chaosOnPods(t *testing.T, w *world) {
	setting := func(name string, otherwise int) int {
		if text, set := os.LookupEnv(name); set {
			n, err := strconv.Atoi(text)
			require.NoError(t, err, name)
			return n
		}
		return otherwise
	}
	seed, runs, lanes := setting("SEED", 1), setting("RUNS", 8), setting("LANES", 4)
	u := &upheaval{world: w.of(t), tally: &chaos.Tally{}, bar: chaosBar}
	if _, chosen := os.LookupEnv("RUNS"); !chosen {
		u.bar = patience // beside other tests the machine is too busy for a time to mean something
	}
	u.prepare(lanes)
	own := chaos.NewPlan(uint64(seed), chaos.Share{Kind: chaos.KeeperRestarted, Times: 1}, chaos.Share{Kind: chaos.ContainerKilled, Times: 1},
		chaos.Share{Kind: chaos.ProgramKilled, Times: 1}, chaos.Share{Kind: chaos.PodDeleted, Times: 1}, chaos.Share{Kind: chaos.PodErased, Times: 1})
	shared := chaos.NewPlan(uint64(seed)+1<<32, chaos.Share{Kind: chaos.ControllerKilled, Times: 1},
		chaos.Share{Kind: chaos.StoreDown, Times: 1}, chaos.Share{Kind: chaos.APIServerKilled, Times: 1})
	for round := 0; round < runs/lanes && !t.Failed(); round++ {
		if round%2 == 0 {
			assert.NoError(t, u.round(round, own.Next, nil))
			continue
		}
		trouble := shared.Next()
		assert.NoError(t, u.round(round, func() chaos.Step { return trouble }, &trouble))
	}
	u.report(seed)
	u.judge()
	u.kubectl("delete", "jobworkspaces", "--all", "--timeout="+patience.String())
}

// prepare makes the journals and the JobWorkspaces. Every second JobWorkspace is exclusive.
func (u *upheaval) prepare(lanes int) {
	u.t.Helper()
	require.NoError(u.t, v1alpha1.AddToScheme(u.objects.Scheme()))
	u.journals = u.t.TempDir()
	require.NoError(u.t, os.Chmod(u.journals, 0o777)) // the user of the pod is another one
	image := u.byDigest("docker.io/library/busybox:stable")
	u.Kubectl(u.t, "create", "namespace", u.namespace+"-journal")
	journal := *u.world
	journal.namespace += "-journal"
	journal.apply(fmt.Sprintf(journalPod, image, u.journals))
	journal.kubectl("wait", "--for=condition=Ready", "pod/journal", "--timeout="+patience.String())
	for safety, word := range map[job.Safety]v1alpha1.JobSafety{job.Idempotent: "Idempotent", job.Exclusive: "Exclusive"} {
		u.apply(fmt.Sprintf(chaosTemplate, safety, image, word, journal.namespace))
	}
	u.apply("apiVersion: orcon.tengu.io/v1alpha1\nkind: JobWorkspace\nmetadata: {name: " + probeName + "}\nspec: {template: none}\n")
	for i := range lanes {
		safety := []job.Safety{job.Idempotent, job.Exclusive}[i%2]
		o := &v1alpha1.JobWorkspace{
			ObjectMeta: metav1.ObjectMeta{Namespace: u.namespace, Name: fmt.Sprintf("chaos-%d", i)},
			Spec: v1alpha1.JobWorkspaceSpec{
				Template: "chaos-" + string(safety), LostAfter: &metav1.Duration{Duration: chaosLost},
				CancelGracePeriod: &metav1.Duration{Duration: chaosGrace}, State: &v1alpha1.JobStatePolicy{Encryption: v1alpha1.EncryptionDisabled},
			},
		}
		require.NoError(u.t, u.objects.Create(u.t.Context(), o))
		u.lanes = append(u.lanes, &lane{upheaval: u, safety: safety, Lane: shelf.Lane{Name: o.Name, UID: string(o.UID)}})
	}
}

// round carries a run in each lane: each has a fault of its own, or all have the same trouble.
func (u *upheaval) round(n int, next func() chaos.Step, trouble *chaos.Step) error {
	errs := make([]error, len(u.lanes)+1)
	var all sync.WaitGroup
	over := make(chan struct{})
	for i, l := range u.lanes {
		s := next()
		all.Go(func() { errs[i] = l.carry(n, s, trouble == nil, over) })
	}
	if trouble != nil {
		<-time.After(trouble.Outage(10 * time.Second))
		errs[len(u.lanes)] = u.disturb(*trouble)
	}
	close(over)
	all.Wait()
	return errors.Join(errs...)
}

// disturb has a part that all runs need in trouble for a while.
func (u *upheaval) disturb(s chaos.Step) error {
	u.tally.Seen(s.Kind)
	outage := s.Outage(10 * time.Second)
	switch s.Kind {
	case chaos.ControllerKilled:
		pids := processesOf(u.container("orcon-system", client.MatchingLabels{"app.kubernetes.io/name": "job-controller"}, "job-controller"))
		if len(pids) == 0 {
			return errors.New("the controller has no process")
		}
		if err := syscall.Kill(pids[0], syscall.SIGKILL); err != nil {
			return err
		}
	case chaos.StoreDown:
		incoming := filepath.Join(u.store(), ".incoming")
		err := os.Chmod(incoming, 0o500)
		<-time.After(outage)
		if err = errors.Join(err, os.Chmod(incoming, 0o700)); err != nil {
			return err
		}
	default:
		u.Kill(u.t, "kube-apiserver")
		<-time.After(outage)
		u.StartComponent(u.t, "kube-apiserver")
	}
	return u.heal()
}

// heal waits until the controller sees what is new, and notes when.
func (u *upheaval) heal() error {
	over, probe := time.Now(), &v1alpha1.JobWorkspace{}
	changed, key := false, client.ObjectKey{Namespace: u.namespace, Name: probeName}
	err := poll(func() bool {
		if u.objects.Get(context.Background(), key, probe) != nil {
			return false
		}
		if !changed {
			probe.Spec.KeepGenerations = 1 + probe.Spec.KeepGenerations%100
			changed = u.objects.Update(context.Background(), probe) == nil
		}
		return changed && probe.Status.ObservedGeneration == probe.Generation
	})
	u.healed.Store(time.Now().UnixNano())
	u.back = max(u.back, time.Since(over))
	return err
}

// probeName is a JobWorkspace without a template, by which it shows whether the controller works.
const probeName = "probe"

// carry carries one run to its end. It meets a fault at a moment of its life, unless all have a trouble, which is over when
// a channel is closed.
func (l *lane) carry(round int, s chaos.Step, own bool, over <-chan struct{}) error {
	o := &v1alpha1.JobRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: fmt.Sprintf("%s-%d", l.Name, round)},
		Spec:       v1alpha1.JobRunSpec{Workspace: l.Name, Action: "deploy"},
	}
	var err error
	if timeout := poll(func() bool {
		err = l.objects.Create(context.Background(), o.DeepCopy())
		found := l.objects.Get(context.Background(), client.ObjectKeyFromObject(o), o)
		return found == nil
	}); timeout != nil {
		return errors.Join(timeout, err)
	}
	began, struck, ended := time.Now(), make(chan time.Time, 1), make(chan struct{})
	go func() {
		defer close(struck)
		if own && l.strike(o.Name, s, ended) {
			l.tally.Seen(s.Kind)
			struck <- time.Now()
		}
	}()
	err = l.await(o)
	end := time.Now()
	close(ended)
	hit := <-struck
	<-over
	if own && hit.IsZero() {
		l.missed++
	}
	_, wrote := l.journal()
	last := began
	for _, at := range []time.Time{hit, wrote, time.Unix(0, l.healed.Load())} {
		if at.After(last) {
			last = at
		}
	}
	l.longest = max(l.longest, end.Sub(last))
	moment, _ := s.Moment()
	if err != nil {
		return fmt.Errorf("JobRun %s, which met %q at moment %d, does not end: %w: %+v", o.Name, s.Kind, moment, err, o.Status)
	}
	if l.longest > l.bar {
		return fmt.Errorf("JobRun %s, which met %q at moment %d, was stuck: it ended %s after its last sign of life (%+v)",
			o.Name, s.Kind, moment, l.longest, *o.State.End)
	}
	return l.settle(o)
}

// await waits until a run shows its end, and decides as a person where one must.
func (l *lane) await(o *v1alpha1.JobRun) error {
	err := poll(func() bool {
		if l.objects.Get(context.Background(), client.ObjectKeyFromObject(o), o) != nil {
			return false
		}
		if o.State != nil && o.State.End != nil {
			return true
		}
		w, err := l.workspace()
		if err == nil && w.Phase(workspace.Extent{}) == workspace.NeedsRecovery && len(processesOf(l.program(o.Name, "template"))) == 0 {
			if workspace.Propose(w) == workspace.AcceptCheckpoint {
				l.accepted = o.Name
			}
			_, _ = l.orcon(controlplane.Binary(l.t, "orcon"), "job", "unlock", l.Name, "--because", "a test kills what runs", "--yes")
		}
		return false
	})
	return err
}

// settle waits until nothing is left of a run but its end, accepts what a killed program left, and notes what is there.
func (l *lane) settle(o *v1alpha1.JobRun) error {
	var w workspace.Workspace
	err := poll(func() bool {
		pods := &corev1.PodList{}
		if l.objects.Get(context.Background(), client.ObjectKeyFromObject(o), o) != nil || len(o.Finalizers) > 0 ||
			l.objects.List(context.Background(), pods, client.InNamespace(l.namespace), runLabel(o.Name)) != nil || len(pods.Items) > 0 {
			return false
		}
		var err error
		if w, err = l.workspace(); err != nil {
			return false
		}
		if w.Phase(workspace.Extent{}) == workspace.NeedsAccept {
			_, _ = l.orcon(controlplane.Binary(l.t, "orcon"), "job", "state", "accept", l.Name, "--because", "a test kills what runs", "--yes")
			return false
		}
		return true
	})
	if err != nil {
		return fmt.Errorf("something is left of JobRun %s, or its state cannot be accepted: %w", o.Name, err)
	}
	l.Ends = append(l.Ends, shelf.Seen{Run: o.Name, UID: string(o.UID), End: *o.State.End, State: w, Accepted: l.accepted == o.Name})
	return nil
}

// workspace reads the JobWorkspace.
func (l *lane) workspace() (workspace.Workspace, error) {
	o := &v1alpha1.JobWorkspace{}
	if err := l.objects.Get(context.Background(), client.ObjectKey{Namespace: l.namespace, Name: l.Name}, o); err != nil {
		return workspace.Workspace{}, err
	}
	return convert.ToWorkspace(o, l.safety)
}

// journal returns the journal of the lane, and when its last line was written.
func (l *lane) journal() (string, time.Time) {
	file := filepath.Join(l.journals, l.Name)
	text, _ := os.ReadFile(file)
	if info, err := os.Stat(file); err == nil {
		return string(text), info.ModTime()
	}
	return string(text), time.Time{}
}

// strike waits for the moment of a step, and carries it out. It reports whether it met what it is for.
func (l *lane) strike(run string, s chaos.Step, ended <-chan struct{}) bool {
	moment, after := s.Moment()
	over := func() bool {
		select {
		case <-ended:
			return true
		default:
			return false
		}
	}
	_ = poll(func() bool { return over() || l.reached(run, moment) })
	<-time.After(after)
	met := false
	_ = poll(func() bool {
		met = !over() && l.hit(run, s.Kind)
		return met || over()
	})
	return met
}

// reached reports whether a run has come to a moment.
func (l *lane) reached(run string, m chaos.Moment) bool {
	journal, _ := l.journal()
	switch {
	case m == chaos.Created:
		return true
	case m <= chaos.Restored:
		return l.program(run, "keeper") != ""
	case m == chaos.Begun:
		return strings.Contains(journal, run+" begins ")
	case m == chaos.Working:
		return strings.Contains(journal, run+" wrote 2\n")
	default:
		return strings.Contains(journal, run+" wrote 4\n")
	}
}

// hit does a fault to a run, if there is what it is for.
func (l *lane) hit(run string, kind chaos.Kind) bool {
	name := map[bool]string{true: "keeper", false: "template"}[kind == chaos.KeeperRestarted]
	if kind == chaos.PodDeleted || kind == chaos.PodErased {
		grace := map[bool][]client.DeleteAllOfOption{true: {client.GracePeriodSeconds(0)}}[kind == chaos.PodErased]
		all := append(grace, client.InNamespace(l.namespace), runLabel(run))
		return l.program(run, "keeper") != "" && l.objects.DeleteAllOf(context.Background(), &corev1.Pod{}, all...) == nil
	}
	pids := processesOf(l.program(run, name))
	victim := map[bool]int{true: 1}[kind == chaos.ProgramKilled] // the first one is the shim
	return len(pids) > victim && syscall.Kill(pids[victim], syscall.SIGKILL) == nil
}

// runLabel selects the pods of a run.
func runLabel(run string) client.MatchingLabels {
	return client.MatchingLabels{"job.orcon.tengu.io/run": run}
}

// program returns the identity of a container of a run that runs; "" for none.
func (l *lane) program(run, name string) string { return l.container(l.namespace, runLabel(run), name) }

// container returns the identity of a container that runs; "" for none.
func (u *upheaval) container(namespace string, of client.MatchingLabels, name string) string {
	pods := &corev1.PodList{}
	if u.objects.List(context.Background(), pods, client.InNamespace(namespace), of) != nil {
		return ""
	}
	for _, p := range pods.Items {
		for _, s := range append(p.Status.InitContainerStatuses, p.Status.ContainerStatuses...) {
			if s.Name == name && s.State.Running != nil {
				return strings.TrimPrefix(s.ContainerID, "containerd://")
			}
		}
	}
	return ""
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
	u.t.Logf("seed %d: %d runs as Jobs, %d of which had ended before their fault; the longest took %s to end after its last sign of life; "+
		"the controller came back within %s\n%s\nended: %v",
		seed, runs, missed, longest.Round(100*time.Millisecond), u.back.Round(100*time.Millisecond), u.tally, ends)
}

// judge compares what is stored with what the runs noted, while the controller is away.
func (u *upheaval) judge() {
	u.t.Helper()
	scale := func(replicas string) {
		u.Kubectl(u.t, "-n", "orcon-system", "scale", "deployment/job-controller", "--replicas="+replicas)
	}
	scale("0")
	defer scale("1")
	u.Kubectl(u.t, "-n", "orcon-system", "wait", "--for=delete", "pods", "-l", "app.kubernetes.io/name=job-controller", "--timeout="+patience.String())
	store, err := directory.Open(u.store())
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
	for began := time.Now(); !met(); <-time.After(250 * time.Millisecond) {
		if time.Since(began) > patience {
			return errors.New("it does not come about")
		}
	}
	return nil
}

// journalPod appends to a file of a folder of the node what runs note.
const journalPod = `
apiVersion: v1
kind: Pod
metadata: {name: journal, labels: {app: journal}}
spec:
  containers:
    - name: journal
      image: %s
      command: [sh, -ec]
      args:
        - |
          mkdir -p /www/cgi-bin
          cat >/www/cgi-bin/note <<'END'
          #!/bin/sh
          set -f
          set -- $(cat)
          echo "$2 $3 $4" >>"/journals/$1"
          printf 'Content-Type: text/plain\n\n'
          END
          chmod +x /www/cgi-bin/note
          exec httpd -f -p 8080 -h /www
      readinessProbe: {tcpSocket: {port: 8080}}
      volumeMounts: [{name: journals, mountPath: /journals}]
  volumes: [{name: journals, hostPath: {path: %s}}]
---
apiVersion: v1
kind: Service
metadata: {name: journal}
spec: {selector: {app: journal}, ports: [{port: 8080}]}
`

// chaosTemplate adds lines to the state, and notes outside what it does.
const chaosTemplate = `
apiVersion: orcon.tengu.io/v1alpha1
kind: JobTemplate
metadata: {name: chaos-%[1]s}
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
          note() { wget -q -O- --post-data="$ORCON_WORKSPACE $ORCON_RUN $1 $2" http://journal.%[4]s:8080/cgi-bin/note; }
          note begins $(cat "$f" 2>/dev/null | wc -c)
          for i in 1 2 3 4; do
            note writes $i; echo "$ORCON_RUN $i" >>"$f"; echo "$ORCON_RUN $i"; note wrote $i
            sleep 0.3
          done
`
