package jobprocess

import (
	"context"
	"flag"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/exchange"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/shim"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
)

// TestMain has this program be job-runner if it is called like it: its shim is the true one, its keeper only lets it
// start, stops it at SIGTERM, and lets it exit.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || os.Args[1] != keeperProcess && os.Args[1] != shimProcess {
		os.Exit(m.Run())
	}
	flags := flag.NewFlagSet(os.Args[1], flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	folder, work := flags.String("exchange", "", ""), flags.String("work", "", "")
	for _, other := range []string{"run", "attempt", "place", "address", "token", "state", "scratch", "grace", "hold", "limit", "checkpoint", "exclude", "logs", "rescue"} {
		flags.String(other, "", "")
	}
	if err := flags.Parse(os.Args[2:]); err != nil {
		os.Exit(67)
	}
	if os.Args[1] == shimProcess {
		s := shim.Shim{Exchange: exchange.Folder(*folder), Command: flags.Args(), Folder: *work, Grace: 300 * time.Millisecond}
		code, _ := s.Run(context.Background())
		os.Exit(code)
	}
	_, _ = os.Stderr.WriteString(strings.Join(os.Args, " ") + "\n")
	os.Exit(keep(exchange.Folder(*folder)))
}

// keep is a keeper without a state.
func keep(f exchange.Folder) int {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	if f.WriteStart(exchange.Start{}) != nil {
		return 1
	}
	for {
		select {
		case <-stop:
			_ = f.WriteStop(exchange.Stop{Grace: 300 * time.Millisecond})
		case <-time.After(10 * time.Millisecond):
		}
		if ended, err := f.ReadEnded(); err != nil || ended != nil {
			_ = f.WriteOutcome(exchange.Outcome{})
			return 0
		}
	}
}

// bench is an executor with one attempt, which runs a script.
type bench struct {
	*Machine

	t  *testing.T
	at executor.Attempt
}

func newBench(t *testing.T, script string) *bench {
	b := &bench{t: t, at: executor.Attempt{
		Name: executor.Name{Namespace: "shop", Run: "one", UID: "u1", Number: 1}, Workspace: "db",
		Input:  run.Input{Action: "deploy", Entrypoint: []string{"/bin/sh", "-c", script}, Env: map[string]string{"A": "b", "ORCON_RUN": "x"}},
		Timing: job.Timing{Grace: time.Second}, Settings: executor.Settings{Limit: 5, Checkpoint: time.Second},
	}}
	b.Machine = b.another(t.TempDir())
	t.Cleanup(b.kill)
	return b
}

// another returns an executor of a folder, as a process that was started again has it.
func (b *bench) another(folder string) *Machine {
	return &Machine{Folder: folder, Command: os.Args[:1], Identify: func(n executor.Name, id, _ string) (string, error) {
		return n.Run + " " + id, nil
	}}
}

func (b *bench) sight() executor.Sight {
	b.t.Helper()
	s, err := b.Look(b.t.Context(), b.at.Name)
	require.NoError(b.t, err)
	return s
}

// eventually waits until something is so.
func (b *bench) eventually(is func() bool, why string) {
	b.t.Helper()
	require.Eventually(b.t, is, 20*time.Second, 10*time.Millisecond, why)
}

// pid returns the PID of a process; 0 for none.
func (b *bench) pid(process string) int {
	text, _ := os.ReadFile(b.of(b.at.Name).path(process + ".pid"))
	pid, _ := strconv.Atoi(string(text))
	return pid
}

// kill ends what a failed test left.
func (b *bench) kill() {
	for _, process := range []string{keeperProcess, shimProcess} {
		if pid := b.pid(process); pid > 0 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// read returns a file of the attempt.
func (b *bench) read(name string) string {
	text, _ := os.ReadFile(filepath.Join(string(b.of(b.at.Name)), name))
	return strings.TrimSpace(string(text))
}

// An attempt is started once, also by another process; its end is seen, and its folder goes (JOBS.md J10).
func TestOnce(t *testing.T) {
	b := newBench(t, `echo "$A $ORCON_RUN $ORCON_WORKSPACE" >> "$ORCON_STATE/out"; until [ -e go ]; do sleep 0.02; done`)
	assert.Equal(t, executor.Sight{}, b.sight())
	require.NoError(t, b.Start(t.Context(), b.at))
	b.eventually(func() bool { return b.read("state/out") != "" }, "the program runs")
	first := b.pid(shimProcess)
	require.NoError(t, b.Start(t.Context(), b.at))
	require.NoError(t, b.another(b.Folder).Start(t.Context(), b.at))
	assert.Equal(t, first, b.pid(shimProcess))
	assert.Equal(t, "one process-u1-1", b.read("token"))
	s := b.sight()
	assert.Equal(t, []any{true, false, false, "process-u1-1"}, []any{s.Made, s.Stopped, s.Over, s.Claimant})
	require.NoError(t, os.WriteFile(b.of(b.at.Name).path("work/go"), nil, 0o600))
	b.eventually(func() bool { return b.sight().Over }, "it ends")
	assert.True(t, b.sight().Stopped)
	assert.Equal(t, "b one db", b.read("state/out"), "the program ran once")
	require.NoError(t, b.Remove(t.Context(), b.at.Name))
	assert.Equal(t, executor.Sight{}, b.sight())
	require.NoError(t, b.Remove(t.Context(), b.at.Name), "twice is once")
}

// A start that died between the two processes is completed by the next one.
func TestHalfStarted(t *testing.T) {
	b := newBench(t, "exit 3")
	require.NoError(t, b.prepare(b.of(b.at.Name), b.at))
	require.NoError(t, b.startKeeper(b.of(b.at.Name), b.at))
	keeper := b.pid(keeperProcess)
	assert.Equal(t, executor.Sight{}, b.sight())
	require.NoError(t, b.Start(t.Context(), b.at))
	assert.Equal(t, keeper, b.pid(keeperProcess))
	b.eventually(func() bool { return b.sight().Over }, "it ends")
}

// Removal stops the program by way of the keeper; without one, by way of the shim (JOBS.md J7).
func TestRemove(t *testing.T) {
	for label, kill := range map[string]bool{"Keeper": false, "NoKeeper": true} {
		t.Run(label, func(t *testing.T) {
			done := filepath.Join(t.TempDir(), "done")
			b := newBench(t, `trap 'echo stopped > `+done+`; exit 0' TERM; echo up > "$ORCON_STATE/out"; while :; do sleep 0.02; done`)
			require.NoError(t, b.Start(t.Context(), b.at))
			b.eventually(func() bool { return b.read("state/out") != "" }, "the program runs")
			if kill {
				require.NoError(t, syscall.Kill(b.pid(keeperProcess), syscall.SIGKILL))
				b.eventually(func() bool { k, _, err := b.of(b.at.Name).alive(); return !k && err == nil }, "the keeper is dead")
				assert.False(t, b.sight().Over, "the program may still run")
			}
			require.NoError(t, b.Remove(t.Context(), b.at.Name))
			require.NoError(t, b.Remove(t.Context(), b.at.Name))
			b.eventually(func() bool { return !b.of(b.at.Name).there(".") }, "it is gone")
			text, err := os.ReadFile(done)
			require.NoError(t, err)
			assert.Equal(t, "stopped\n", string(text))
		})
	}
}

// The keeper gets what it needs to claim the attempt and to keep its state, and only it has the token (JOBS.md J9).
func TestKeeperArguments(t *testing.T) {
	b := newBench(t, "env > \"$ORCON_STATE/env\"")
	b.Address, b.Keeper = "http://127.0.0.1:1", []string{"--exclude", "b"}
	b.at.Input.Exclude = []string{".terraform", "*.tmp"}
	require.NoError(t, b.Start(t.Context(), b.at))
	b.eventually(func() bool { return b.sight().Over }, "it ends")
	args := b.read("keeper.log")
	for _, pair := range [][2]string{
		{"--run", "u1"}, {"--attempt", "1"}, {"--place", "process-u1-1"}, {"--address", "http://127.0.0.1:1"},
		{"--limit=5", "--checkpoint=1s"}, {"--exclude=.terraform", "--exclude=*.tmp"}, {"--exclude", "b"},
		{"--state", b.of(b.at.Name).path("state")}, {"--token", b.of(b.at.Name).path("token")},
	} {
		assert.Contains(t, args, strings.Join(pair[:], " "))
	}
	env := "\n" + b.read("state/env") + "\n"
	for name, value := range map[string]string{
		"ORCON_ACTION": "deploy", "ORCON_RUN": "one", "ORCON_ATTEMPT": "1", "ORCON_NAMESPACE": "shop", "ORCON_STATE": b.of(b.at.Name).path("state"),
		"ORCON_PARAMETERS": b.of(b.at.Name).path("state/template-parameters.json"), "HOME": b.of(b.at.Name).path("home"), "A": "b",
	} {
		assert.Contains(t, env, "\n"+name+"="+value+"\n")
	}
	assert.NotContains(t, env, "ORCON_GENERATION", "only the claim tells")
	assert.NotContains(t, env, "process-u1-1")
}

// A program of job-runner that is not there, and a token that cannot be made, are errors; what failed is tried again.
func TestCannotStart(t *testing.T) {
	b := newBench(t, "exit 0")
	b.Command = []string{filepath.Join(t.TempDir(), "nothing")}
	require.ErrorContains(t, b.Start(t.Context(), b.at), "cannot start the processes of attempt 1 of Run one")
	assert.Equal(t, executor.Sight{}, b.sight())
	identify := b.Identify
	b.Identify = func(executor.Name, string, string) (string, error) { return "", os.ErrPermission }
	require.ErrorIs(t, b.Start(t.Context(), b.at), os.ErrPermission)
	b.Command, b.Identify = os.Args[:1], identify
	require.NoError(t, b.Start(t.Context(), b.at))
	b.eventually(func() bool { return b.sight().Over }, "it ends")
}

// Attempts do not share anything: each of a Run has its own folder, claimant and processes (JOBS.md J10).
func TestAttempts(t *testing.T) {
	b := newBench(t, `until [ -e go ]; do sleep 0.02; done`)
	second := b.at
	second.Number = 2
	require.NoError(t, b.Start(t.Context(), b.at))
	require.NoError(t, b.Start(t.Context(), second))
	require.NoError(t, b.Remove(t.Context(), b.at.Name))
	b.eventually(func() bool { return !b.of(b.at.Name).there(".") }, "the first one is gone")
	s, err := b.Look(t.Context(), second.Name)
	require.NoError(t, err)
	assert.Equal(t, []any{true, false, "process-u1-2"}, []any{s.Made, s.Over, s.Claimant})
	require.NoError(t, b.Remove(t.Context(), second.Name))
	b.eventually(func() bool { return !b.of(second.Name).there(".") }, "the second one is gone")
}

// A setting that is missing is named before anything is made.
func TestIncomplete(t *testing.T) {
	e := &Machine{Folder: t.TempDir()}
	require.ErrorIs(t, e.Start(t.Context(), executor.Attempt{}), ErrIncomplete)
	left, err := os.ReadDir(e.Folder)
	require.NoError(t, err)
	assert.Empty(t, left)
}
