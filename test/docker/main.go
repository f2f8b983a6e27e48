package docker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
)

// variableFolder tells tests where the engine is, and what was made for them.
const variableFolder = "ORCON_TEST_ENGINE"

// The files by which tests have the engine end and start again.
const (
	requests = 3
	answers  = 4
)

// Main runs tests as a user, who may call the engine, and returns their exit code. Prepare makes what they need in a folder.
func Main(m *testing.M, user int, prepare func(folder string) error) int {
	if folder := os.Getenv(variableRelay); folder != "" {
		fmt.Fprintln(os.Stderr, relay(folder))
		return 1
	}
	if os.Getenv(variableFolder) != "" {
		return m.Run()
	}
	runtime.LockOSThread() // the engine ends with this thread
	code, err := beside(user, prepare)
	if err != nil {
		fmt.Fprintln(os.Stderr, "cannot test with a Docker engine:", err)
		return 1
	}
	return code
}

// errNotRoot is the error of a user who cannot start an engine.
var errNotRoot = errors.New("it needs root: namespaces, mounts and control groups")

// beside runs the tests beside an engine.
func beside(user int, prepare func(folder string) error) (code int, err error) {
	if os.Geteuid() != 0 {
		return 1, errNotRoot
	}
	if err := install(); err != nil {
		return 1, err
	}
	folder, err := os.MkdirTemp("", "docker-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(folder) //nolint:errcheck // of a test
	sweep(os.Getpid())
	own := own(os.Getpid())
	audit := filepath.Join(own, "audit")
	err = errors.Join(chooseRegistry(), os.Chmod(folder, 0o711), os.MkdirAll(audit, 0o700), os.Chown(own, user, user), os.Chown(audit, user, user), prepare(folder))
	if err != nil {
		return 1, err
	}
	e := &engine{folder: folder, group: user}
	if err := e.start(context.Background()); err != nil {
		e.kill()
		return 1, err
	}
	defer sweep(os.Getpid())
	defer func() { e.kill() }()
	return e.test(user)
}

// test runs this program again as a user, and carries out its requests.
func (e *engine) test(user int) (code int, err error) {
	request, to, err := os.Pipe()
	if err != nil {
		return 1, err
	}
	from, answer, err := os.Pipe()
	if err != nil {
		return 1, err
	}
	c := exec.Command("/proc/self/exe", os.Args[1:]...)
	audit := filepath.Join(own(os.Getpid()), "audit")
	c.Env = append(os.Environ(), variableFolder+"="+e.folder, "TMPDIR="+own(os.Getpid()), "HOME=/")
	if os.Getenv(variableAudit) != "" {
		c.Env = append(c.Env, variableAudit+"="+audit)
	}
	c.Stdout, c.Stderr, c.ExtraFiles = os.Stdout, os.Stderr, []*os.File{to, from}
	c.SysProcAttr = &syscall.SysProcAttr{
		Credential: &syscall.Credential{Uid: uint32(user), Gid: uint32(user)}, Pdeathsig: syscall.SIGKILL,
	}
	if err := c.Start(); err != nil {
		return 1, err
	}
	_, _ = to.Close(), from.Close() // the tests have them
	for lines := bufio.NewReader(request); ; {
		request, err := lines.ReadString('\n')
		if err != nil {
			break
		}
		if err := e.carryOut(request); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		fmt.Fprintln(answer)
	}
	err = errors.Join(c.Wait(), keep(audit, os.Getenv(variableAudit)))
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// The requests of tests.
const (
	reboot  = "reboot\n"
	restart = "restart\n"
)

// carryOut does what a test requests.
func (e *engine) carryOut(request string) error {
	if request == restart {
		return e.restart(context.Background())
	}
	e.kill()
	return e.start(context.Background())
}

// variableAudit names the folder where audit logs of clusters are kept; unset for none.
const variableAudit = "ORCON_AUDIT"

// keep copies the audit logs of the tests, whose user may not write that folder.
func keep(from, to string) error {
	if to == "" {
		return nil
	}
	return os.CopyFS(to, os.DirFS(from))
}

// Folder returns the folder of the engine, with what was prepared.
func Folder() string { return os.Getenv(variableFolder) }

// Socket returns the file by which the engine is called.
func Socket() string { return (&engine{folder: Folder()}).socket() }

// Reboot ends the engine with all its containers at once, and starts it again with what it had stored.
func Reboot(t *testing.T) {
	t.Helper()
	requested(t, reboot)
}

// Restart kills the daemon of the engine, and starts it again: it stops the containers that it finds.
func Restart(t *testing.T) {
	t.Helper()
	requested(t, restart)
}

// requested has a request carried out.
func requested(t *testing.T, what string) {
	t.Helper()
	serial.Lock()
	defer serial.Unlock()
	_, err := syscall.Write(requests, []byte(what))
	if err == nil {
		_, err = syscall.Read(answers, make([]byte, 1))
	}
	if err != nil {
		t.Fatal("cannot restart the engine:", err)
	}
}

// serial has one request at a time.
var serial sync.Mutex //nolint:gochecknoglobals // one engine

// install installs the engine if it is missing. Its service is not started.
func install() error {
	if _, err := exec.LookPath("dockerd"); err == nil {
		return nil
	}
	command := `command -v apt-get >/dev/null || { echo "there is no apt-get: install docker.io by hand"; exit 1; }
export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1
get() { apt-get -oDPkg::Lock::Timeout=300 install -y -qq --no-install-recommends docker.io iproute2; }
get || { apt-get update -qq && get; }`
	if out, err := exec.Command("sh", "-ec", command).CombinedOutput(); err != nil {
		return fmt.Errorf("cannot install docker.io: %w: %s", err, out)
	}
	return nil
}
