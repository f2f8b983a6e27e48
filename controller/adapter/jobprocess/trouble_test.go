package jobprocess

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
)

// What cannot be read of an attempt is an error, and never taken for its end, unless its template has spoilt a message.
func TestUnreadable(t *testing.T) {
	b := newBench(t, "exit 0")
	require.NoError(t, b.Start(t.Context(), b.at))
	b.eventually(func() bool { return b.sight().Over }, "it ends")
	a := b.of(b.at.Name)
	for file, want := range map[string]error{"exchange/ended": nil, lockName: syscall.ELOOP} { // a template may spoil the first
		t.Run(file, func(t *testing.T) {
			text, err := os.ReadFile(a.path(file))
			require.NoError(t, err)
			require.NoError(t, os.Remove(a.path(file)))
			require.NoError(t, os.Symlink(a.path(file), a.path(file))) // a loop
			seen, err := b.Look(t.Context(), b.at.Name)
			require.ErrorIs(t, err, want)
			assert.Equal(t, want == nil, seen.Over && seen.Stopped)
			require.NoError(t, os.Remove(a.path(file)))
			require.NoError(t, os.WriteFile(a.path(file), text, 0o600))
		})
	}
	assert.True(t, b.sight().Over)
}

// A process whose PID is not known cannot be stopped, which is an error each time until it has ended by itself.
func TestUnknownPID(t *testing.T) {
	b := newBench(t, `until [ -e go ]; do sleep 0.02; done`)
	require.NoError(t, b.Start(t.Context(), b.at))
	a := b.of(b.at.Name)
	b.eventually(func() bool { return a.there("exchange/started") }, "the program runs")
	pid := a.path(keeperProcess + ".pid")
	text, err := os.ReadFile(pid)
	require.NoError(t, err)
	require.NoError(t, os.Remove(pid))
	require.ErrorIs(t, b.Remove(t.Context(), b.at.Name), os.ErrNotExist)
	require.NoError(t, os.WriteFile(pid, []byte("many"), 0o600))
	require.ErrorContains(t, b.Remove(t.Context(), b.at.Name), "cannot send terminated to keeper")
	assert.False(t, b.sight().Over, "nothing was stopped")
	require.NoError(t, os.WriteFile(pid, text, 0o600))
	require.NoError(t, b.Remove(t.Context(), b.at.Name))
	b.eventually(func() bool { return !a.there(".") }, "it is gone")
	assert.Equal(t, executor.Sight{}, b.sight())
}

// A process that has ended between two looks is no error.
func TestSignalOfNothing(t *testing.T) {
	b := newBench(t, "exit 0")
	require.NoError(t, b.Start(t.Context(), b.at))
	b.eventually(func() bool { return b.sight().Over }, "it ends")
	a := b.of(b.at.Name)
	b.eventually(func() bool { return syscall.Kill(b.pid(keeperProcess), 0) != nil }, "it is no zombie")
	require.NoError(t, a.signal(keeperProcess, syscall.SIGTERM))
	done, err := a.end()
	require.NoError(t, err)
	assert.True(t, done)
	assert.False(t, a.there("."))
}

// A process that was started again finds the attempts of the one before, stops them, and makes no second ones (JOBS.md
// J8 and J10).
func TestAnotherProcess(t *testing.T) {
	b := newBench(t, `echo up >> "$ORCON_STATE/out"; trap 'exit 0' TERM; while :; do sleep 0.02; done`)
	require.NoError(t, b.Start(t.Context(), b.at))
	b.eventually(func() bool { return b.read("state/out") != "" }, "the program runs")
	other := b.another(b.Folder)
	s, err := other.Look(t.Context(), b.at.Name)
	require.NoError(t, err)
	assert.Equal(t, b.sight(), s)
	for range 3 {
		require.NoError(t, other.Start(t.Context(), b.at))
	}
	assert.Equal(t, "up", b.read("state/out"), "the program runs once")
	require.NoError(t, other.Remove(t.Context(), b.at.Name))
	require.NoError(t, b.Remove(t.Context(), b.at.Name), "two may remove it at once")
	b.eventually(func() bool { return !b.of(b.at.Name).there(".") }, "it is gone")
	b.eventually(func() bool {
		b.mutex.Lock()
		defer b.mutex.Unlock()
		return len(b.ending) == 0
	}, "nothing is awaited any more")
	require.NoError(t, other.Start(t.Context(), b.at), "it may be started anew")
	b.eventually(func() bool { return b.read("state/out") == "up" }, "the program runs")
	require.NoError(t, other.Remove(t.Context(), b.at.Name))
	b.eventually(func() bool { return !b.of(b.at.Name).there(".") }, "it is gone")
}

// A start that died after both processes were started, and before it noted that, starts the program no second time
// (JOBS.md J10).
func TestUnnotedStart(t *testing.T) {
	b := newBench(t, `echo up >> "$ORCON_STATE/out"; until [ -e go ]; do sleep 0.02; done`)
	require.NoError(t, b.Start(t.Context(), b.at))
	b.eventually(func() bool { return b.read("state/out") != "" }, "the program runs")
	a, keeper, shim := b.of(b.at.Name), b.pid(keeperProcess), b.pid(shimProcess)
	require.NoError(t, os.Remove(a.path(startedName)))
	assert.Equal(t, executor.Sight{}, b.sight())
	require.NoError(t, b.Start(t.Context(), b.at))
	assert.Equal(t, []int{keeper, shim}, []int{b.pid(keeperProcess), b.pid(shimProcess)}, "no second ones are started")
	assert.Equal(t, "up", b.read("state/out"))
	require.NoError(t, os.WriteFile(a.path("work/go"), nil, 0o600))
	b.eventually(func() bool { return b.sight().Over }, "it ends")
	assert.Equal(t, "up", b.read("state/out"))
}

// An attempt whose keeper ended before the program could start is over, although its shim still waits for it (JOBS.md J10).
func TestKeeperGone(t *testing.T) {
	b := newBench(t, `echo up >> "$ORCON_STATE/out"`)
	a := b.of(b.at.Name)
	require.NoError(t, os.MkdirAll(string(a), 0o700))
	keeper, err := os.Create(a.path(lockName))
	require.NoError(t, err)
	require.NoError(t, syscall.Flock(int(keeper.Fd()), syscall.LOCK_EX))
	require.NoError(t, b.Start(t.Context(), b.at), "it takes this process for the keeper")
	b.eventually(func() bool {
		alive, err := a.exchange().Shim().Alive()
		return alive && err == nil
	}, "the shim waits")
	assert.False(t, b.sight().Over)
	require.NoError(t, keeper.Close())
	b.eventually(func() bool { return b.sight().Over }, "no keeper will come")
	require.NoError(t, b.Remove(t.Context(), b.at.Name))
	b.eventually(func() bool { return !a.there(".") }, "it is gone")
}

// A keeper whose shim was killed before the program was started is stopped, as a kubelet stops the sidecars of a container
// that has ended: it would wait for ever (JOBS.md J6).
func TestShimGone(t *testing.T) {
	b := newBench(t, `echo up >> "$ORCON_STATE/out"`)
	a := b.of(b.at.Name)
	require.NoError(t, os.MkdirAll(string(a), 0o700))
	lock, err := os.Create(a.path(lockName))
	require.NoError(t, err)
	defer lock.Close()
	require.NoError(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
	keeper := exec.CommandContext(t.Context(), "sleep", "60")
	require.NoError(t, keeper.Start())
	require.NoError(t, os.WriteFile(a.path(keeperProcess+".pid"), []byte(strconv.Itoa(keeper.Process.Pid)), 0o600))
	ended := make(chan struct{})
	go func() { _ = keeper.Wait(); close(ended) }()
	require.NoError(t, b.Start(t.Context(), b.at))
	stopped := func() bool {
		assert.False(t, b.sight().Over)
		select {
		case <-ended:
			return true
		default:
			return false
		}
	}
	assert.False(t, stopped())
	require.NoError(t, a.signal(shimProcess, syscall.SIGKILL))
	b.eventually(stopped, "the keeper is stopped")
}
