package clustertest_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/clustertest"
	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/state"
)

// forms are those that this user can run.
func forms() []string {
	if os.Geteuid() == 0 {
		return []string{clustertest.ControlPlane, clustertest.Node}
	}
	return []string{clustertest.ControlPlane}
}

// largest is the form with the most to leave behind.
func largest() []string { return forms()[len(forms())-1:] }

// TestSupervisorKilled shows that the janitor ends what a killed supervisor
// left.
func TestSupervisorKilled(t *testing.T) {
	t.Parallel()
	for _, form := range forms() {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			b := background(t, form)
			tr := traceOf(t, b.cluster)
			tr.ends(t)
			kill(t, b.cluster.Supervisor)
			tr.waitGone(t)
		})
	}
}

// TestAllKilled shows that `down` ends what is left if the janitor was killed
// too, and that nothing but files, cgroups and links can be.
func TestAllKilled(t *testing.T) {
	t.Parallel()
	for _, form := range largest() {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			arguments := []string{"--dir", filepath.Join(t.TempDir(), "c")}
			if form == clustertest.Node {
				arguments = append([]string{"--nodes", "2"}, arguments...)
			}
			b := background(t, form, arguments...)
			if form == clustertest.Node {
				b.cluster.Run(t, "load", shellArchive(t))
				b.cluster.Apply(t, web)
				b.cluster.Kubectl(t, "wait", "--for=condition=Ready", "--timeout=60s", "pod/web", "pod/client")
			}
			tr := traceOf(t, b.cluster)
			tr.ends(t)
			kill(t, janitorOf(t, b.cluster))
			kill(t, b.cluster.Supervisor)
			eventually(t, "the processes end with their supervisor", func() error {
				if left := tr.findProcesses(t); len(left) != 0 {
					return fmt.Errorf("left: %q", left)
				}
				return nil
			})
			if _, err := os.Stat(tr.dir); err != nil {
				t.Fatalf("the folder is gone, so that `down` is not tested: %v", err)
			}
			out, err := b.cluster.Try("down")
			if err != nil {
				t.Errorf("down after a crash: %v\n%s", err, out)
			}
			tr.assertGone(t)
		})
	}
}

// TestUpAfterCrash shows that `up` removes what a crash left.
func TestUpAfterCrash(t *testing.T) {
	t.Parallel()
	b := background(t, clustertest.ControlPlane)
	kill(t, janitorOf(t, b.cluster))
	kill(t, b.cluster.Supervisor)
	again := background(t, clustertest.ControlPlane, "--dir", b.cluster.Dir)
	again.cluster.Kubectl(t, "get", "namespaces")
	out, err := exec.Command(clustertest.Program(t), "up", "--dir", b.cluster.Dir).CombinedOutput()
	if err == nil {
		t.Error("a cluster was brought up in another's folder")
	}
	wants(t, "why", string(out), "up already")
	tr := traceOf(t, again.cluster)
	tr.ends(t)
	again.cluster.Run(t, "down")
	tr.assertGone(t)
	again.cluster.Run(t, "down")
}

// TestInterruptedStart shows that a signal at any time of a start ends all.
func TestInterruptedStart(t *testing.T) {
	t.Parallel()
	for _, form := range largest() {
		for _, when := range []string{"starting etcd", "API server answers"} {
			t.Run(form+"/"+when, func(t *testing.T) {
				t.Parallel()
				dir := filepath.Join(t.TempDir(), "c")
				command := exec.Command(clustertest.Program(t), "run", "--detached", "--form", form, "--dir", dir)
				stderr, err := command.StderrPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := command.Start(); err != nil {
					t.Fatal(err)
				}
				lines := bufio.NewScanner(stderr)
				for lines.Scan() && !strings.Contains(lines.Text(), when) {
				}
				_ = command.Process.Signal(syscall.SIGINT)
				_, _ = io.Copy(io.Discard, stderr)
				if command.Wait() == nil {
					t.Error("an interrupted start must not look like a success")
				}
				traceIn(dir).assertGone(t)
			})
		}
	}
}

// TestFailedStart shows that a component that ends at once is named with its
// last words, and that nothing is left.
func TestFailedStart(t *testing.T) {
	t.Parallel()
	programs := t.TempDir()
	program := filepath.Join(programs, "cluster")
	copyProgram(t, clustertest.Program(t), program)
	out, err := exec.Command(program, "up", "--name", "unbuilt").CombinedOutput()
	if err == nil {
		t.Error("a cluster came up without Kubernetes")
	}
	wants(t, "the cure", string(out), "test/cluster/build.sh")
	script := "#!/bin/sh\necho some last words\nexit 3\n"
	writeProgram(t, filepath.Join(programs, "kube"), []byte(script))
	dir := filepath.Join(t.TempDir(), "c")
	out, err = exec.Command(program, "up", "--dir", dir).CombinedOutput()
	if err == nil {
		t.Error("a cluster came up without working components")
	}
	wants(t, "the last words", string(out), "some last words")
	wants(t, "the component", string(out), "etcd")
	traceIn(dir).assertGone(t)
}

// resident is a cluster that `up` brought up.
type resident struct {
	cluster *clustertest.Cluster
}

// background brings a cluster up as people do, so that it outlives the program.
func background(t *testing.T, form string, arguments ...string) resident {
	t.Helper()
	if len(arguments) == 0 {
		arguments = []string{"--dir", filepath.Join(t.TempDir(), "c")}
	}
	arguments = append([]string{"up", "--form", form}, arguments...)
	if out, err := exec.Command(clustertest.Program(t), arguments...).CombinedOutput(); err != nil {
		t.Fatalf("cannot bring up a cluster: %v\n%s", err, out)
	}
	c := clustertest.Attach(t, arguments[len(arguments)-1])
	t.Cleanup(func() { _, _ = c.Try("down") })
	return resident{cluster: c}
}

// tryUp brings up a cluster that may fail.
func tryUp(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "c")
	out, err := exec.Command(clustertest.Program(t), append([]string{"up", "--dir", dir}, arguments...)...).CombinedOutput()
	return string(out), err
}

func janitorOf(t *testing.T, c *clustertest.Cluster) int {
	t.Helper()
	for _, pid := range processes(t) {
		command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if strings.Contains(string(command), "\x00janitor\x00"+c.Dir+"\x00") {
			return pid
		}
	}
	t.Fatal("the cluster has no janitor")
	return 0
}

// kill ends a process at once, and returns when it has ended: on a busy machine that is later.
func kill(t *testing.T, pid int) {
	t.Helper()
	p, err := state.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the process ends", func() error {
		if p.Alive() {
			return fmt.Errorf("process %d lives", pid)
		}
		return nil
	})
}

func copyProgram(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	writeProgram(t, to, data)
}

// writeProgram writes a file that is run next. No process begins meanwhile: it would inherit
// the open file, and the program could not be run ("text file busy").
func writeProgram(t *testing.T, to string, data []byte) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(to, data, 0o755); err != nil {
		t.Fatal(err)
	}
}

func exitCode(err error) int {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	return 0
}
