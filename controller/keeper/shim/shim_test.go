package shim_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/exchange"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/shim"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
)

// folder has this program be a shim with the rest of its arguments as the entrypoint.
const folder = "ORCON_TEST_EXCHANGE"

// rescue has it rescue files into this folder.
const rescue = "ORCON_TEST_RESCUE"

// short has it wait a short time for a keeper.
const short = "ORCON_TEST_SHORT"

// holding has it hold its container for a time.
const holding = "ORCON_TEST_HOLD"

func TestMain(m *testing.M) {
	at := os.Getenv(folder)
	if at == "" {
		os.Exit(m.Run())
	}
	s := shim.Shim{Exchange: exchange.Folder(at), Command: os.Args[1:], Folder: at, Grace: time.Minute, Patience: patience, Clock: keeper.BootTime}
	if state := os.Getenv(rescue); state != "" {
		s.Rescue = shim.Rescue{Patterns: []string{"*.tfstate", "*.rescue", "*/*.rescue"}, State: state}
	}
	if text := os.Getenv(holding); text != "" {
		s.Failure.Hold, _ = time.ParseDuration(text)
	}
	if text := os.Getenv(short); text != "" {
		s.Patience = time.Second / 2
	}
	code, err := s.Run(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// patience bounds every wait.
const patience = 2 * time.Minute

// start starts a shim; it is killed at the end of the test.
func start(t *testing.T, at exchange.Folder, command ...string) *exec.Cmd {
	c := exec.Command(os.Args[0], command...)
	c.Env = append(os.Environ(), folder+"="+string(at))
	c.Stderr = os.Stderr
	require.NoError(t, c.Start())
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	return c
}

// run lets an entrypoint start, waits for its end and lets the shim exit.
func run(t *testing.T, command ...string) (exchange.Folder, exchange.Ended, int) {
	at := exchange.Folder(t.TempDir())
	c := start(t, at, command...)
	require.NoError(t, at.WriteStart(exchange.Start{Environment: []string{"NAME=value"}}))
	ended := wait(t, at)
	alive, err := at.Shim().Alive()
	require.NoError(t, err)
	assert.True(t, alive, "it exits only when there is an outcome")
	require.NoError(t, at.WriteOutcome(exchange.Outcome{Code: ended.Code}))
	_ = c.Wait()
	return at, ended, c.ProcessState.ExitCode()
}

func wait(t *testing.T, at exchange.Folder) exchange.Ended {
	var ended *exchange.Ended
	require.Eventually(t, func() (met bool) {
		var err error
		ended, err = at.ReadEnded()
		require.NoError(t, err)
		return ended != nil
	}, patience, 5*time.Millisecond)
	return *ended
}

// output joins the segments of an output; a hole reads as [n].
func output(t *testing.T, at exchange.Folder, name string) string {
	segments, err := exchange.Segments(at.Output(), name)
	require.NoError(t, err)
	var all strings.Builder
	end := int64(0)
	for _, one := range segments {
		if one.Position > end {
			fmt.Fprintf(&all, "[%d]", one.Position-end)
		}
		text, err := os.ReadFile(one.Path)
		require.NoError(t, err)
		all.Write(text)
		end = one.End()
	}
	return all.String()
}

// JOBS.md J15: the entrypoint finds its environment, an empty input, and its output is kept apart.
func TestRun(t *testing.T) {
	t.Setenv("NAME", "another")
	at, ended, code := run(t, "sh", "-c", `cat; echo "$NAME"; test $(tr '\0' '\n' < /proc/$$/environ | grep -c ^NAME=) = 1 && echo problem >&2; exit 7`)
	assert.Equal(t, exchange.Ended{Code: 7, Ran: true}, ended)
	assert.Equal(t, 7, code)
	assert.Equal(t, "value\n", output(t, at, "stdout"))
	assert.Equal(t, "problem\n", output(t, at, "stderr"))
}

// A container that is stopped by the kubelet, the engine or its machine stops the entrypoint, and tells so.
func TestStoppedFromOutside(t *testing.T) {
	at, file := exchange.Folder(t.TempDir()), filepath.Join(t.TempDir(), "ready")
	c := start(t, at, "sh", "-c", `trap "exit 0" TERM; touch `+file+`; while :; do sleep 0.02; done`)
	require.NoError(t, at.WriteStart(exchange.Start{}))
	require.Eventually(t, func() bool {
		_, err := os.Stat(file)
		return err == nil
	}, patience, 5*time.Millisecond)
	require.NoError(t, c.Process.Signal(syscall.SIGTERM))
	assert.Equal(t, exchange.Ended{Ran: true, Message: "its container was stopped from outside"}, wait(t, at))
}

// JOBS.md J11: a burst is kept whole, in segments.
func TestBurst(t *testing.T) {
	at, ended, _ := run(t, "sh", "-c", "head -c 10485760 /dev/zero | tr '\\0' x; echo end")
	assert.Equal(t, exchange.Ended{Ran: true}, ended)
	segments, err := exchange.Segments(at.Output(), "stdout")
	require.NoError(t, err)
	assert.Len(t, segments, 11)
	all := output(t, at, "stdout")
	assert.Len(t, all, 10<<20+len("end\n"))
	assert.Equal(t, "end\n", strings.TrimLeft(all, "x"))
}

// JOBS.md J15: an entrypoint that cannot be executed has a code of the runner.
func TestNotStarted(t *testing.T) {
	for _, command := range [][]string{{"no-such-program"}, {"/etc/passwd"}, {}} {
		_, ended, code := run(t, command...)
		assert.Equal(t, contract.NotStarted, ended.Code)
		assert.False(t, ended.Ran)
		assert.Contains(t, ended.Message, "cannot start the entrypoint")
		assert.Equal(t, contract.NotStarted, code)
	}
}

// JOBS.md J9: when the end is reported, nothing of the template is left that could write, in whatever session it is.
func TestNothingIsLeft(t *testing.T) {
	at, ended, _ := run(t, "sh", "-c",
		`setsid sh -c 'trap "" TERM HUP; echo $$ > daemon; while :; do sleep 0.02; done' & while ! test -s daemon; do sleep 0.02; done; (sleep 0.01 &) ; exit 4`)
	assert.Equal(t, exchange.Ended{Code: 4, Ran: true}, ended)
	pid, err := os.ReadFile(filepath.Join(string(at), "daemon"))
	require.NoError(t, err)
	_, err = os.Stat("/proc/" + strings.TrimSpace(string(pid)))
	assert.ErrorIs(t, err, os.ErrNotExist, "it is dead, and it is no zombie")
}

// A shim that is stopped before the start starts nothing, and one that comes again after a start neither.
func TestStartsOnce(t *testing.T) {
	at := exchange.Folder(t.TempDir())
	require.NoError(t, at.WriteStop(exchange.Stop{Reason: "cancelled"}))
	require.NoError(t, at.WriteStart(exchange.Start{}))
	start(t, at, "sh", "-c", "touch ran")
	assert.False(t, wait(t, at).Ran)

	again := exchange.Folder(t.TempDir())
	require.NoError(t, again.WriteStart(exchange.Start{}))
	require.NoError(t, again.WriteStarted())
	start(t, again, "sh", "-c", "touch ran")
	assert.Equal(t, exchange.Ended{Code: contract.Vanished, Ran: true, Killed: true}, wait(t, again))
	for _, f := range []exchange.Folder{at, again} {
		_, err := os.Stat(filepath.Join(string(f), "ran"))
		assert.ErrorIs(t, err, os.ErrNotExist)
	}
	second := start(t, again, "true")
	_ = second.Wait()
	assert.Equal(t, contract.Refused, second.ProcessState.ExitCode(), "two shims at a time")
}

// JOBS.md J6: a template that is not exclusive is stopped when no renewal was acknowledged for too long, also where no
// keeper is left to do it: SIGTERM, then SIGKILL after the grace.
func TestStopsByItself(t *testing.T) {
	const lost = time.Second
	for label, tc := range map[string]struct {
		why, script string
		renewals    int
		code        int
		killed      bool
	}{
		"Never":   {why: "the claim counts", script: `trap "exit 9" TERM; while :; do sleep 0.02; done`, code: 9},
		"Deaf":    {why: "SIGKILL", script: `trap "" TERM; while :; do sleep 0.02; done`, code: 137, killed: true},
		"Renewed": {why: "the last renewal counts", script: `trap "exit 9" TERM; while :; do sleep 0.02; done`, renewals: 5, code: 9},
	} {
		t.Run(label, func(t *testing.T) {
			at := exchange.Folder(t.TempDir())
			start(t, at, "sh", "-c", tc.script)
			sent := keeper.BootTime()
			require.NoError(t, at.WriteStart(exchange.Start{Lost: lost, Grace: 100 * time.Millisecond, Acknowledged: sent}))
			for range tc.renewals {
				after := sent + lost/2
				require.Eventually(t, func() bool { return keeper.BootTime() > after }, patience, time.Millisecond)
				sent = keeper.BootTime()
				require.NoError(t, at.WriteRenewed(exchange.Renewed{Sent: sent}))
			}
			assert.Equal(t, exchange.Ended{Code: tc.code, Ran: true, Killed: tc.killed}, wait(t, at), tc.why)
			assert.GreaterOrEqual(t, keeper.BootTime()-sent, lost, "not before")
			stop, err := at.ReadStop()
			require.NoError(t, err)
			assert.Equal(t, "no renewal was acknowledged for 1s", stop.Reason, "the keeper that comes back finds the reason")
		})
	}
}

// JOBS.md J15: a template whose keeper is gone for good ends the container with a code of the runner, and not before.
func TestWithoutKeeper(t *testing.T) {
	t.Setenv(short, "1")
	at := exchange.Folder(t.TempDir())
	require.NoError(t, at.WriteStart(exchange.Start{}))
	alive, err := at.Keeper().Lock()
	require.NoError(t, err)
	c := start(t, at, "true")
	wait(t, at)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = c.Wait()
	}()
	select {
	case <-ended:
		require.Fail(t, "a keeper lives")
	case <-time.After(time.Second):
	}
	require.NoError(t, alive.Close())
	<-ended
	assert.Equal(t, contract.Unrecorded, c.ProcessState.ExitCode())
}
