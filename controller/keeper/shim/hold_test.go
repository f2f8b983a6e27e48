package shim_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/exchange"
)

// held starts a shim that holds its container for a time, and lets an entrypoint start.
func held(t *testing.T, hold, script string) (exchange.Folder, func(syscall.Signal)) {
	t.Helper()
	t.Setenv(holding, hold)
	at := exchange.Folder(t.TempDir())
	c := start(t, at, "sh", "-c", script)
	require.NoError(t, at.WriteStart(exchange.Start{}))
	return at, func(s syscall.Signal) { require.NoError(t, c.Process.Signal(s)) }
}

// begun waits until the container is held, and checks that no end is reported.
func begun(t *testing.T, at exchange.Folder, code int) {
	t.Helper()
	require.Eventually(t, func() bool {
		h, err := exchange.ReadFailed(at)
		require.NoError(t, err)
		return h != nil && h.Code == code
	}, patience, 5*time.Millisecond)
	ended, err := at.ReadEnded()
	require.NoError(t, err)
	assert.Nil(t, ended)
}

// JOBS-DESIGN.md 17: the container of a template that failed is kept for a time, and no longer than until a cancel or the
// end of the container; then its exit code is reported.
func TestHold(t *testing.T) {
	for label, free := range map[string]func(at exchange.Folder, signal func(syscall.Signal)){
		"Cancel":    func(at exchange.Folder, _ func(syscall.Signal)) { _ = at.WriteStop(exchange.Stop{Grace: time.Hour}) },
		"Container": func(_ exchange.Folder, signal func(syscall.Signal)) { signal(syscall.SIGTERM) },
	} {
		t.Run(label, func(t *testing.T) {
			at, signal := held(t, "1h", "exit 3")
			begun(t, at, 3)
			free(at, signal)
			assert.Equal(t, exchange.Ended{Code: 3, Ran: true}, wait(t, at))
		})
	}
	at, _ := held(t, "1s", "exit 3")
	begun(t, at, 3)
	assert.Equal(t, exchange.Ended{Code: 3, Ran: true}, wait(t, at), "its time has passed")
}

// ready reports whether the template has written file ready.
func ready(at exchange.Folder) bool {
	_, err := os.Stat(filepath.Join(string(at), "ready"))
	return err == nil
}

// A run that is not exclusive is held no longer than it may go on without an acknowledged renewal (JOBS.md J6).
func TestHoldIsLost(t *testing.T) {
	t.Setenv(holding, "1h")
	at := exchange.Folder(t.TempDir())
	start(t, at, "sh", "-c", "exit 3")
	require.NoError(t, at.WriteStart(exchange.Start{Lost: 2 * time.Second, Grace: time.Hour, Acknowledged: keeper.BootTime()}))
	begun(t, at, 3)
	assert.Equal(t, exchange.Ended{Code: 3, Ran: true}, wait(t, at))
}

// What succeeds, and what was stopped, is not held.
func TestNotHeld(t *testing.T) {
	at, _ := held(t, "1h", "true")
	assert.Equal(t, exchange.Ended{Ran: true}, wait(t, at))
	at, signal := held(t, "1h", "trap 'exit 4' TERM; echo > ready; while :; do sleep 0.05; done")
	require.Eventually(t, func() bool { s, _ := at.ReadStarted(); return s != nil }, patience, 5*time.Millisecond)
	require.Eventually(t, func() bool { return ready(at) }, patience, 5*time.Millisecond)
	signal(syscall.SIGTERM)
	assert.Equal(t, exchange.Ended{Code: 4, Ran: true, Message: "its container was stopped from outside"}, wait(t, at))
}
