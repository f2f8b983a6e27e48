package state_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/state"
)

func TestDirFor(t *testing.T) {
	tests := map[string]struct {
		why, name string
		ok        bool
	}{
		"Simple":    {why: "the usual", name: "default", ok: true},
		"Generated": {why: "run names clusters by process", name: "run-12", ok: true},
		"Empty":     {why: "it would be the folder of all", name: ""},
		"Climbing":  {why: "it would leave the temporary folder", name: "../x"},
		"Slash":     {why: "it would be a folder in a folder", name: "a/b"},
		"Upper":     {why: "a host name has no upper case", name: "Big"},
		"Long":      {why: "sockets need short folders", name: strings.Repeat("a", 41)},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			dir, err := state.DirFor(tc.name)
			if (err == nil) != tc.ok {
				t.Errorf("%s: got %q, %v", tc.why, dir, err)
			}
		})
	}
}

func TestParseDirRefusesWhatSocketsCannotHold(t *testing.T) {
	if _, err := state.ParseDir("/tmp/" + strings.Repeat("a", 100)); err == nil {
		t.Error("want an error that says to choose a shorter folder")
	}
}

func TestNamesFitTheKernel(t *testing.T) {
	d := state.Dir("/tmp/orcon-cluster-a")
	if n := len(d.Link()); n > 15 {
		t.Errorf("link %q has %d bytes, the kernel takes 15", d.Link(), n)
	}
	if d.Link() == state.Dir("/tmp/orcon-cluster-b").Link() {
		t.Error("two clusters have the same link")
	}
}

func TestRecordRoundTrip(t *testing.T) {
	d := state.Dir(filepath.Join(t.TempDir(), "c"))
	if err := d.Create(); err != nil {
		t.Fatal(err)
	}
	want := state.Record{
		Name: "x", Dir: d, Form: state.Node, Supervisor: state.Process{PID: 1, Started: 2},
		Components: map[string]state.Process{"etcd": {PID: 3, Started: 4}}, Ready: true,
	}
	if err := want.Save(); err != nil {
		t.Fatal(err)
	}
	got, err := state.Load(d)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("want %+v, got %+v, %v", want, got, err)
	}
	if err := d.Create(); !errors.Is(err, os.ErrExist) {
		t.Errorf("a folder that exists must not be taken: %v", err)
	}
}

func TestLoadNothing(t *testing.T) {
	if _, err := state.Load(state.Dir(filepath.Join(t.TempDir(), "none"))); !errors.Is(err, state.ErrNoCluster) {
		t.Errorf("want ErrNoCluster, got %v", err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	if _, err := state.Load(state.Dir(link)); err == nil {
		t.Error("a link planted in a shared folder was followed")
	}
}

// TestMain is, for TestThreadsGoOn, a process whose first thread ends before the others.
func TestMain(m *testing.M) {
	if os.Getenv("ORCON_TEST_ONE_THREAD_ENDS") == "" {
		os.Exit(m.Run())
	}
	runtime.LockOSThread() // TestMain is called on the first thread
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); os.Exit(0) }()
	_, _, _ = syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0)
}

// TestThreadsGoOn shows that a process is alive as long as one of its threads is: it may
// still write where it did.
func TestThreadsGoOn(t *testing.T) {
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), "ORCON_TEST_ONE_THREAD_ENDS=1")
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	stat := fmt.Sprintf("/proc/%d/stat", command.Process.Pid)
	for until := time.Now().Add(time.Minute); ; {
		if text, err := os.ReadFile(stat); err == nil && strings.Contains(string(text), ") Z ") {
			break
		}
		if time.Now().After(until) {
			t.Fatal("the first thread does not end")
		}
		runtime.Gosched()
	}
	process, err := state.FindProcess(command.Process.Pid)
	if err != nil || !process.Alive() {
		t.Errorf("want a live process, got %+v, %v", process, err)
	}
	_ = stdin.Close()
	_ = command.Wait()
	if process.Alive() {
		t.Error("a process that has ended is not alive")
	}
}

// TestProcessIsNotItsNumber shows that a number used again is another process.
func TestProcessIsNotItsNumber(t *testing.T) {
	command := exec.Command("sleep", "60")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	process, err := state.FindProcess(command.Process.Pid)
	if err != nil || !process.Alive() {
		t.Fatalf("want a live process, got %+v, %v", process, err)
	}
	later := state.Process{PID: process.PID, Started: process.Started + 1}
	if err := later.Signal(syscall.SIGKILL); err != nil || later.Alive() || !process.Alive() {
		t.Errorf("a signal to another process of the same number must do nothing: %v", err)
	}
	if err := process.Signal(syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	_ = command.Wait()
	if process.Alive() {
		t.Error("a process that has ended is not alive")
	}
}
