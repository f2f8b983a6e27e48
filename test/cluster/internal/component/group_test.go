package component_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/component"
	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/state"
)

// newGroup makes a group whose last report is kept in running.
func newGroup(t *testing.T) (*component.Group, state.Dir) {
	t.Helper()
	d := state.Dir(t.TempDir())
	if err := os.Mkdir(d.Path("logs"), 0o700); err != nil {
		t.Fatal(err)
	}
	launcher, err := component.NewLauncher()
	if err != nil {
		t.Fatal(err)
	}
	group := component.NewGroup(d, func(map[string]state.Process) {})
	group.SetLauncher(launcher)
	t.Cleanup(func() { _ = group.KillAll(context.Background()) })
	return group, d
}

func healthy(context.Context) error { return nil }

func TestStopAndStart(t *testing.T) {
	group, d := newGroup(t)
	spoken := func(context.Context) error {
		if log, err := os.ReadFile(d.Log("a")); err != nil || len(log) == 0 {
			return errors.New("it has said nothing yet")
		}
		return nil
	}
	spec := component.Spec{Name: "a", Command: []string{"/bin/sh", "-c", "echo up; exec sleep 60"}, Healthy: spoken}
	if err := group.Add(spec); err != nil {
		t.Fatal(err)
	}
	if err := group.Start(t.Context(), "a"); !errors.Is(err, component.ErrRunning) {
		t.Errorf("want ErrRunning, got %v", err)
	}
	first := group.Status()[0].PID
	if err := group.Signal(t.Context(), "a", syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if s := group.Status()[0]; s.PID != 0 || !strings.Contains(s.Exit, "terminated") {
		t.Errorf("want it ended by the signal, got %+v", s)
	}
	if err := group.Signal(t.Context(), "a", syscall.SIGKILL); err != nil {
		t.Errorf("to end what has ended does no harm: %v", err)
	}
	if err := group.Start(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if s := group.Status()[0]; s.PID == 0 || s.PID == first || s.Exit != "" {
		t.Errorf("want a new process, got %+v", s)
	}
	if log, _ := os.ReadFile(d.Log("a")); !strings.HasPrefix(string(log), "up\n") {
		t.Errorf("want the log of before kept, got %q", log)
	}
}

// A component has as many processors as the environment says.
func TestProcs(t *testing.T) {
	t.Setenv(component.EnvProcs, "1")
	group, d := newGroup(t)
	said := func(context.Context) error {
		if log, err := os.ReadFile(d.Log("a")); err != nil || string(log) != "1\n" {
			return fmt.Errorf("it says %q", log)
		}
		return nil
	}
	if err := group.Add(component.Spec{Name: "a", Command: []string{"/bin/sh", "-c", "echo $GOMAXPROCS; exec sleep 60"}, Healthy: said}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := group.WaitHealthy(ctx, "a"); err != nil {
		t.Error(err)
	}
}

func TestUnknownIsNamed(t *testing.T) {
	group, _ := newGroup(t)
	if err := group.Start(t.Context(), "x"); !errors.Is(err, component.ErrUnknown) {
		t.Errorf("want ErrUnknown, got %v", err)
	}
}

func TestEndedBeforeHealthy(t *testing.T) {
	group, _ := newGroup(t)
	never := func(context.Context) error { return errors.New("not yet") }
	spec := component.Spec{Name: "a", Command: []string{"/bin/sh", "-c", "echo last words; exit 3"}, Healthy: never}
	if err := group.Add(spec); err != nil {
		t.Fatal(err)
	}
	err := group.WaitHealthy(t.Context(), "a")
	if err == nil || !strings.Contains(err.Error(), "last words") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("want the end and the last words, got %v", err)
	}
}

// TestGivingUpIsRepaired shows that what ends by its own fault comes back, and
// what somebody killed does not.
func TestGivingUpIsRepaired(t *testing.T) {
	group, d := newGroup(t)
	marker := d.Path("gave-up")
	gaveUp := func(context.Context) error {
		if _, err := os.Stat(marker + "-twice"); err != nil {
			return errors.New("not yet")
		}
		return nil
	}
	script := "[ -e " + marker + " ] && { touch " + marker + "-twice; exec sleep 60; }; touch " + marker + "; sleep 0.2; exit 1"
	spec := component.Spec{Name: "a", Command: []string{"/bin/sh", "-c", script}, Healthy: gaveUp}
	group.KeepRunning()
	if err := group.Add(spec); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for gaveUp(ctx) != nil && ctx.Err() == nil {
		_ = group.WaitHealthy(ctx, "a")
	}
	if err := gaveUp(ctx); err != nil {
		t.Fatal("it was not started again")
	}
	if err := group.Signal(ctx, "a", syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case <-time.After(1500 * time.Millisecond):
	case <-ctx.Done():
	}
	if s := group.Status()[0]; s.PID != 0 {
		t.Errorf("what was killed came back: %+v", s)
	}
}

func TestTailIsShort(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(file, []byte(strings.Repeat("x\n", 100)+"end\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tail := component.Tail(file)
	if !strings.HasSuffix(tail, "end") || strings.Count(tail, "\n") > 20 {
		t.Errorf("got %q", tail)
	}
}
