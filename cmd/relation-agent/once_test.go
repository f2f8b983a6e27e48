package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/stream/streamtest"
)

// INJECTION.md I3: an ordinary init container waits, writes and ends; one that is
// ended before that has failed.
func TestOnce(t *testing.T) {
	authority := streamtest.NewAuthority(t)
	controller := streamtest.Start(t, authority)
	controller.Say(database(1, ""))
	p := newPod(t, controller.Address(), authority.PEM())
	ended := p.background("once")
	p.eventually("it waits", func() bool { return strings.Contains(p.log.String(), "the gate is closed: waiting for db") })
	controller.Say(database(2, "db.tengu.io"))
	require.NoError(t, <-ended)
	assert.Equal(t, "db.tengu.io", p.read("bindings/db/host"))
	assert.Contains(t, p.read("run/env"), "DB='db.tengu.io'")

	t.Run("each start has the data of its time, also after a reboot of the node", func(t *testing.T) {
		controller.Stop()
		for _, dir := range []string{"bindings", "run"} {
			require.NoError(t, os.RemoveAll(filepath.Join(p.root, dir)))
			require.NoError(t, os.Mkdir(filepath.Join(p.root, dir), 0o755))
		}
		again := p.background("once")
		select {
		case <-again:
			require.FailNow(t, "it has not waited", p.log.String())
		case <-time.After(time.Second):
		}
		controller.Say(database(3, "db3.tengu.io"))
		controller.Start(authority)
		require.NoError(t, <-again)
		assert.Equal(t, "db3.tengu.io", p.read("bindings/db/host"))
		assert.Contains(t, p.read("run/env"), "DB='db3.tengu.io'")
	})
	t.Run("a signal is a failure", func(t *testing.T) {
		p := newPod(t, "https://127.0.0.1:1", authority.PEM())
		cmd := p.command("once")
		require.NoError(t, cmd.Start())
		p.eventually("it tries", func() bool { return strings.Contains(p.log.String(), "trying again") })
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		assert.Error(t, cmd.Wait(), "the pod's containers must not start without their data")
	})
}
