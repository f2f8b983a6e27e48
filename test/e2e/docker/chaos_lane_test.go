package docker_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/moby/moby/client"
	kube "sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/dockerjob"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/job"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
	"gitlab.ilabt.imec.be/tengu/orcon/test/chaos"
	"gitlab.ilabt.imec.be/tengu/orcon/test/chaos/shelf"
)

// lane is a JobWorkspace whose runs follow each other.
type lane struct {
	*upheaval
	shelf.Lane

	exclusive bool
	// longest is the longest time that a run took to end after its last sign of life or the last trouble.
	longest time.Duration
	missed  int
}

// run returns the JobRun of a round.
func (l *lane) run(round int) *v1alpha1.JobRun {
	return &v1alpha1.JobRun{
		ObjectMeta: l.named(fmt.Sprintf("%s-%d", l.Name, round)), Spec: v1alpha1.JobRunSpec{Workspace: l.Name, Action: "deploy"},
	}
}

// carry carries one run to its end. Its own container is killed at a moment of its life, or all have a trouble, which is over
// when a channel is closed.
func (l *lane) carry(round int, s chaos.Step, own bool, over <-chan struct{}) error {
	if !own {
		<-time.After(s.Outage(2 * time.Second)) // the trouble meets runs at different moments
	}
	o := l.run(round)
	if err := l.objects.Create(context.Background(), o); err != nil {
		return err
	}
	began, struck, ended := time.Now(), make(chan time.Time, 1), make(chan struct{})
	go func() {
		defer close(struck)
		if own && l.strike(round, s, ended) {
			l.tally.Seen(s.Kind)
			struck <- time.Now()
		}
	}()
	err := poll(func() bool {
		return l.objects.Get(context.Background(), kube.ObjectKeyFromObject(o), o) == nil && o.State != nil && o.State.End != nil
	})
	end := time.Now()
	close(ended)
	hit := <-struck
	<-over
	if own && hit.IsZero() {
		l.missed++
	}
	if err != nil {
		return fmt.Errorf("JobRun %s does not end: %w: %+v", o.Name, err, o.Status)
	}
	_, last := l.journal()
	for _, at := range []time.Time{began, hit, l.lastHealed()} {
		if at.After(last) {
			last = at
		}
	}
	if l.longest = max(l.longest, end.Sub(last)); l.longest > l.bar {
		return fmt.Errorf("JobRun %s was stuck: it ended %s after its last sign of life (%+v)", o.Name, l.longest, *o.State.End)
	}
	return l.settle(o)
}

func (l *lane) lastHealed() time.Time {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.healed
}

// settle waits until nothing is left of a run but its end, accepts what a killed program left, and notes what is there.
func (l *lane) settle(o *v1alpha1.JobRun) error {
	var w workspace.Workspace
	err := poll(func() bool {
		left, _ := filepath.Glob(filepath.Join(l.node, "runs", string(o.UID)+".*"))
		if l.objects.Get(context.Background(), kube.ObjectKeyFromObject(o), o) != nil || len(o.Finalizers) > 0 || len(left) > 0 {
			return false
		}
		var err error
		if w, err = l.workspace(); err != nil {
			return false
		}
		if w.Phase(workspace.Extent{}) == workspace.NeedsAccept {
			_, _ = l.try("job", "state", "accept", l.Name, "-n", shop, "--because", "a test kills what runs", "--yes")
			return false
		}
		return true
	})
	if err != nil {
		return fmt.Errorf("something is left of JobRun %s, or its state cannot be accepted: %w", o.Name, err)
	}
	l.Ends = append(l.Ends, shelf.Seen{Run: o.Name, UID: string(o.UID), End: *o.State.End, State: w})
	return nil
}

// workspace reads the JobWorkspace.
func (l *lane) workspace() (workspace.Workspace, error) {
	o := &v1alpha1.JobWorkspace{ObjectMeta: l.named(l.Name)}
	if err := l.objects.Get(context.Background(), kube.ObjectKeyFromObject(o), o); err != nil {
		return workspace.Workspace{}, err
	}
	return convert.ToWorkspace(o, map[bool]job.Safety{true: job.Exclusive, false: job.Idempotent}[l.exclusive])
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

// mounts returns the folder of the run of a round on the machine.
func (l *lane) mounts(round int) (dockerjob.Mounts, error) {
	o := l.run(round)
	if err := l.objects.Get(context.Background(), kube.ObjectKeyFromObject(o), o); err != nil {
		return "", err
	}
	all, err := filepath.Glob(filepath.Join(l.node, "runs", string(o.UID)+".*"))
	if len(all) == 0 {
		return "", errors.Join(err, os.ErrNotExist)
	}
	return dockerjob.Mounts(all[len(all)-1]), nil
}

// reached reports whether the run of a round has come to a moment.
func (l *lane) reached(round int, m chaos.Moment) bool {
	if m == chaos.Working {
		journal, _ := l.journal()
		return strings.Contains(journal, l.run(round).Name+" wrote 2\n")
	}
	folder, err := l.mounts(round)
	if m == chaos.Created || err != nil {
		return m == chaos.Created
	}
	x := folder.Exchange()
	file := map[chaos.Moment]string{chaos.Restored: "start", chaos.Begun: "started", chaos.Ended: "ended", chaos.Concluded: "outcome"}[m]
	_, err = os.Stat(filepath.Join(string(x), file))
	return err == nil
}

// strike waits for the moment of a step, and kills the container. It reports whether it met one that ran.
func (l *lane) strike(round int, s chaos.Step, ended <-chan struct{}) (met bool) {
	moment, after := s.Moment()
	over := func() bool {
		select {
		case <-ended:
			return true
		default:
			return false
		}
	}
	_ = poll(func() bool { return over() || l.reached(round, moment) })
	<-time.After(after)
	_ = poll(func() bool {
		folder, err := l.mounts(round)
		if err == nil {
			name := "orcon-" + strings.Replace(filepath.Base(string(folder)), ".", "-", 1)
			_, err = l.engine.ContainerKill(context.Background(), name, client.ContainerKillOptions{Signal: "SIGKILL"})
		}
		met = err == nil
		return met || over()
	})
	return met
}
