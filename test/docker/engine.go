package docker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// script is the first process of the namespaces of the engine, which it starts again whenever that ends.
const script = `
mount --make-rprivate /
mount -t proc proc /proc
umount -l /sys/fs/cgroup/unified 2>/dev/null || true
mount -t tmpfs tmpfs /run
ip link set lo up
ORCON_TEST_RELAY="$5" "$4" &
while :; do
  rm -f /run/docker.pid
  dockerd --data-root "$1/data" --exec-root /run/docker --pidfile /run/docker.pid --host "unix://$1/docker.sock" --group "$2" \
    --iptables=false --ip6tables=false --cgroup-parent "$3" --log-level warn || true
done`

// patience is how long the engine may take to start on a loaded machine.
const patience = 2 * time.Minute

// engine is a Docker engine that runs.
type engine struct {
	folder string
	group  int
	cmd    *exec.Cmd
}

// socket returns the file by which the engine is called.
func (e *engine) socket() string { return filepath.Join(e.folder, "docker.sock") }

// parent and a PID name the control group of an engine's containers, and the folder of its tests.
const parent = "orcon-docker-"

func cgroups(pid int) string { return parent + strconv.Itoa(pid) }

// own returns the folder of the tests. It is not below TMPDIR, which may be too long for sockets.
func own(pid int) string { return filepath.Join("/tmp", cgroups(pid)) }

// start starts the engine, with what an earlier one has left in the folder. It ends with the thread that calls.
func (e *engine) start(ctx context.Context) error {
	log, err := os.OpenFile(filepath.Join(e.folder, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // the engine has it
	program, err := os.Executable()
	if err != nil {
		return err
	}
	_ = os.Remove(e.socket()) // of an engine that was killed
	e.cmd = exec.Command("/bin/sh", "-ec", script, "engine", e.folder, strconv.Itoa(e.group), "/"+cgroups(os.Getpid()),
		program, own(os.Getpid()))
	e.cmd.Stdout, e.cmd.Stderr = log, log
	e.cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID | syscall.CLONE_NEWUTS, Pdeathsig: syscall.SIGKILL,
	}
	if err := e.cmd.Start(); err != nil {
		return fmt.Errorf("cannot start dockerd: %w", err)
	}
	return e.ready(ctx)
}

// ready waits until the engine accepts connections.
func (e *engine) ready(ctx context.Context) error {
	bounded, end := context.WithTimeout(ctx, patience)
	defer end()
	for !e.answers(bounded) {
		select {
		case <-bounded.Done():
			text, _ := os.ReadFile(filepath.Join(e.folder, "log"))
			return fmt.Errorf("dockerd does not answer: %w: …%s", bounded.Err(), text[max(0, len(text)-2000):])
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}

// restart kills the daemon of the engine alone, and waits until the next one accepts connections.
func (e *engine) restart(ctx context.Context) error {
	daemon, err := e.daemon()
	if err == nil {
		err = errors.Join(os.Remove(e.socket()), syscall.Kill(daemon, syscall.SIGKILL))
	}
	if err != nil {
		return fmt.Errorf("cannot kill dockerd: %w", err)
	}
	return e.ready(ctx)
}

// daemon returns the PID of the daemon, which is a child of the first process.
func (e *engine) daemon() (int, error) {
	children, err := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", e.cmd.Process.Pid))
	for child := range strings.FieldsSeq(string(children)) {
		if name, _ := os.ReadFile("/proc/" + child + "/comm"); string(name) == "dockerd\n" {
			return strconv.Atoi(child)
		}
	}
	return 0, errors.Join(errors.New("there is none"), err)
}

// answers reports whether the engine accepts connections.
func (e *engine) answers(ctx context.Context) bool {
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", e.socket())
	if err != nil {
		return false
	}
	return c.Close() == nil
}

// kill ends the engine and its containers, as the end of a machine does.
func (e *engine) kill() {
	_ = e.cmd.Process.Kill() // it may have ended
	_ = e.cmd.Wait()
}

// sweep removes the control groups and folders of engines whose tests have ended; pid counts as one of them.
func sweep(pid int) {
	hybrid, _ := filepath.Glob("/sys/fs/cgroup/*/" + parent + "*")
	unified, _ := filepath.Glob("/sys/fs/cgroup/" + parent + "*")
	tests, _ := filepath.Glob("/tmp/" + parent + "*")
	for _, one := range slices.Concat(hybrid, unified, tests) {
		of, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(one), parent))
		if err != nil || of != pid && !errors.Is(syscall.Kill(of, 0), syscall.ESRCH) {
			continue
		}
		if one == own(of) {
			_ = os.RemoveAll(one)
			continue
		}
		var folders []string
		_ = filepath.WalkDir(one, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				folders = append(folders, path)
			}
			return nil
		})
		for _, folder := range slices.Backward(folders) {
			_ = os.Remove(folder) // one that is in use stays
		}
	}
}
