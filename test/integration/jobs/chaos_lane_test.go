package jobs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/job"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/exchange"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
	"gitlab.ilabt.imec.be/tengu/orcon/test/chaos"
	"gitlab.ilabt.imec.be/tengu/orcon/test/chaos/shelf"
)

// lane is a Workspace whose Runs follow each other.
type lane struct {
	*upheaval

	name, uid string
	ends      []shelf.Seen
	// longest is the longest time that a run took to end after its last sign of life or the last fault.
	longest time.Duration
	missed  int
	// accepted is the last run whose checkpoint was accepted.
	accepted string
}

// attempt is the folder of a run's last attempt.
type attempt string

func (a attempt) path(name string) string { return filepath.Join(string(a), name) }

func (a attempt) there(name string) bool {
	_, err := os.Stat(a.path(name))
	return err == nil
}

func (a attempt) exchange() exchange.Folder { return exchange.Folder(a.path("exchange")) }

// alive reports whether a process lives, by its lock.
func (a attempt) alive(name string) bool {
	life := a.exchange().Shim()
	if name == "keeper" {
		life = a.exchange().Keeper()
	}
	alive, err := life.Alive()
	return err == nil && alive
}

// pid returns the PID of a process; 0 for none.
func (a attempt) pid(name string) int {
	text, _ := os.ReadFile(a.path(name + ".pid"))
	pid, _ := strconv.Atoi(string(text))
	return pid
}

// attemptOf returns the last attempt of a run.
func (l *lane) attemptOf(uid string) attempt {
	all, _ := filepath.Glob(filepath.Join(l.controller.Attempts, uid+".*"))
	if len(all) == 0 {
		return attempt(filepath.Join(l.controller.Attempts, uid+".1"))
	}
	return attempt(all[len(all)-1])
}

// journal returns the journal of the lane, and when its last line was written.
func (l *lane) journal() (string, time.Time) {
	file := filepath.Join(l.path("out"), l.name)
	text, _ := os.ReadFile(file)
	if info, err := os.Stat(file); err == nil {
		return string(text), info.ModTime()
	}
	return string(text), time.Time{}
}

// carry carries one Run to its end, with a fault at a moment of its life; without one if others have the trouble.
func (l *lane) carry(round int, s chaos.Step, own bool) error {
	if !own {
		<-time.After(s.Outage(2 * time.Second)) // the trouble meets runs at different moments
	}
	o := &v1alpha1.JobRun{
		ObjectMeta: l.named(fmt.Sprintf("%s-%d", l.name, round)), Spec: v1alpha1.JobRunSpec{Workspace: l.name, Action: "deploy"},
	}
	if err := l.create(o); err != nil {
		return fmt.Errorf("cannot make Run %s: %w", o.Name, err)
	}
	began, struck := time.Now(), make(chan time.Time, 1)
	ended := make(chan struct{})
	go func() {
		defer close(struck)
		if own && l.strike(string(o.UID), s, ended) {
			l.tally.Seen(s.Kind)
			struck <- time.Now()
		}
	}()
	err := l.await(o)
	close(ended)
	last := began
	hit := <-struck
	_, wrote := l.journal()
	for _, at := range []time.Time{hit, wrote, l.lastHealed()} {
		if at.After(last) {
			last = at
		}
	}
	l.longest = max(l.longest, time.Since(last))
	if own && hit.IsZero() {
		l.missed++
	}
	moment, _ := s.Moment()
	if err != nil {
		return fmt.Errorf("Run %s, which met %q at moment %d, does not end within %s: %w", o.Name, s.Kind, moment, time.Since(last), err)
	}
	if l.longest > l.bar {
		return fmt.Errorf("Run %s, which met %q at moment %d, was stuck: it ended %s after its last sign of life (%+v)",
			o.Name, s.Kind, moment, l.longest, *o.State.End)
	}
	if err := l.settle(o); err != nil {
		return fmt.Errorf("Run %s, which met %q at moment %d: %w", o.Name, s.Kind, moment, err)
	}
	if own && s.Kind == chaos.MessageLate {
		return l.repeat(o)
	}
	return nil
}

// hopeless is after how long a run is not waited for any more.
const hopeless = 100 * time.Second

// await waits until a Run shows its end, and decides as a person where one must.
func (l *lane) await(o *v1alpha1.JobRun) error {
	next := time.Now()
	return poll(hopeless, func() bool {
		if time.Now().Before(next) {
			return false
		}
		next = time.Now().Add(100 * time.Millisecond)
		if l.client.Get(context.Background(), client.ObjectKeyFromObject(o), o) != nil {
			return false
		}
		if o.State != nil && o.State.End != nil {
			return true
		}
		if w, err := l.workspace(); err == nil && w.Phase(workspace.Extent{}) == workspace.NeedsRecovery {
			l.recover(w, string(o.UID))
		}
		return false
	})
}

// workspace reads the Workspace.
func (l *lane) workspace() (workspace.Workspace, error) {
	o := &v1alpha1.JobWorkspace{}
	if err := l.client.Get(context.Background(), client.ObjectKey{Namespace: l.controller.Namespace, Name: l.name}, o); err != nil {
		return workspace.Workspace{}, err
	}
	return convert.ToWorkspace(o, job.Exclusive)
}

// recover decides about a lost run, when nothing of it can run any more.
func (l *lane) recover(w workspace.Workspace, uid string) {
	a := l.attemptOf(uid)
	if a.alive("keeper") {
		return // it will come back
	}
	if a.alive("shim") {
		_ = syscall.Kill(a.pid("shim"), syscall.SIGKILL)
		return
	}
	// A decision that fails is made anew; it may have been taken all the same.
	remedy := workspace.Propose(w)
	if remedy == workspace.AcceptCheckpoint {
		l.accepted = uid
	}
	_ = l.decide(l.name, wire.Decision{Remedy: string(remedy), Fence: w.Lock.Fence, Generation: w.State.Number})
}

// settle waits until nothing is left of a Run but its end, accepts what a killed program left, and notes what is there.
func (l *lane) settle(o *v1alpha1.JobRun) error {
	var w workspace.Workspace
	gone := func() bool {
		if l.client.Get(context.Background(), client.ObjectKeyFromObject(o), o) != nil || len(o.Finalizers) > 0 {
			return false
		}
		all, _ := filepath.Glob(filepath.Join(l.controller.Attempts, string(o.UID)+".*"))
		var err error
		if w, err = l.workspace(); err != nil || len(all) > 0 {
			return false
		}
		if w.Phase(workspace.Extent{}) == workspace.NeedsAccept {
			_ = l.decide(l.name, wire.Decision{Remedy: string(workspace.AcceptGeneration), Fence: w.Last.Fence, Generation: w.State.Number})
			return false
		}
		return true
	}
	if err := poll(hopeless, gone); err != nil {
		return fmt.Errorf("something is left of it, or its state cannot be accepted: %w", err)
	}
	l.ends = append(l.ends, shelf.Seen{Run: o.Name, UID: string(o.UID), End: *o.State.End, State: w, Accepted: l.accepted == string(o.UID)})
	return nil
}

// repeat sends the messages of a run that has ended again: they change nothing (JOBS.md J8).
func (l *lane) repeat(o *v1alpha1.JobRun) error {
	before, after := &v1alpha1.JobWorkspace{}, &v1alpha1.JobWorkspace{}
	key := client.ObjectKey{Namespace: l.controller.Namespace, Name: l.name}
	err := l.client.Get(context.Background(), key, before)
	l.courier.Repeat(context.Background(), string(o.UID))
	if err = errors.Join(err, l.client.Get(context.Background(), key, after)); err != nil {
		return err
	}
	if !equality.Semantic.DeepEqual(before.State, after.State) {
		return fmt.Errorf("a message of Run %s that came again changed its Workspace", o.Name)
	}
	return nil
}

// reached reports whether a run has come to a moment.
func (l *lane) reached(uid string, m chaos.Moment) bool {
	a := l.attemptOf(uid)
	journal, _ := l.journal()
	switch m {
	case chaos.Created:
		return true
	case chaos.Made:
		return a.there("keeper.pid")
	case chaos.Restored:
		return a.there("exchange/start")
	case chaos.Begun:
		return a.there("exchange/started")
	case chaos.Working:
		return a.there("exchange/started") && strings.HasSuffix(journal, " wrote 2\n")
	case chaos.Ended:
		return a.there("exchange/ended")
	default:
		return a.there("exchange/outcome")
	}
}

// strike waits for the moment of a step, and carries it out. It reports whether it met what it is for.
func (l *lane) strike(uid string, s chaos.Step, ended <-chan struct{}) bool {
	moment, after := s.Moment()
	over := func() bool {
		select {
		case <-ended:
			return true
		default:
			return false
		}
	}
	_ = poll(hopeless, func() bool { return over() || l.reached(uid, moment) })
	if moment > chaos.Created {
		<-time.After(after)
	}
	if slices.Contains([]chaos.Kind{chaos.MessageLost, chaos.AnswerLost, chaos.MessageRepeated, chaos.MessageLate}, s.Kind) {
		l.courier.Treat(uid, s.Kind)
		_ = poll(hopeless, func() bool { return over() || l.courier.Count(uid) > 0 })
		return l.courier.Count(uid) > 0
	}
	met := false
	_ = poll(hopeless, func() bool {
		met = l.hit(l.attemptOf(uid), s.Kind)
		return met || over()
	})
	return met
}

// hit kills a process that lives.
func (l *lane) hit(a attempt, kind chaos.Kind) bool {
	name := "keeper"
	if kind == chaos.ContainerKilled || kind == chaos.ProgramKilled {
		name = "shim"
	}
	pid := a.pid(name)
	if pid == 0 || !a.alive(name) {
		return false
	}
	if kind == chaos.ProgramKilled {
		return killChild(pid)
	}
	if kind == chaos.KeeperRestarted {
		return restarted(a, pid) == nil
	}
	return syscall.Kill(pid, syscall.SIGKILL) == nil
}

// killChild kills the child of a process.
func killChild(pid int) bool {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for child := range strings.FieldsSeq(string(text)) {
			if n, err := strconv.Atoi(child); err == nil && syscall.Kill(n, syscall.SIGKILL) == nil {
				return true
			}
		}
	}
	return false
}

// restarted kills a keeper and starts it again, as a kubelet does.
func restarted(a attempt, pid int) error {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err != nil {
		return err
	}
	args := strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
	lock, err := os.OpenFile(a.path("keeper.lock"), os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := poll(time.Minute, func() bool { return syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil }); err != nil {
		return err
	}
	log, err := os.OpenFile(a.path("keeper.log"), os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	c := exec.Command(args[0], args[1:]...)
	c.Stdout, c.Stderr, c.ExtraFiles, c.SysProcAttr = log, log, []*os.File{lock}, &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		return err
	}
	go func() { _ = c.Wait() }()
	return os.WriteFile(a.path("keeper.pid"), []byte(strconv.Itoa(c.Process.Pid)), 0o600)
}

// endProcesses kills what is left of the runs.
func (l *lane) endProcesses() {
	files, _ := filepath.Glob(filepath.Join(l.controller.Attempts, "*", "*.pid"))
	for _, file := range files {
		a := attempt(filepath.Dir(file))
		if name := strings.TrimSuffix(filepath.Base(file), ".pid"); a.alive(name) {
			_ = syscall.Kill(a.pid(name), syscall.SIGKILL)
		}
	}
}
