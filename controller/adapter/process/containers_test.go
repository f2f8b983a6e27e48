package process_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/process"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

// pod is a /proc as the agent's container sees it.
type pod struct {
	t    *testing.T
	proc string
	sent map[int]syscall.Signal
	errs map[int]error
}

func newPod(t *testing.T) *pod {
	p := &pod{t: t, proc: t.TempDir(), sent: map[int]syscall.Signal{}, errs: map[int]error{}}
	for _, name := range []string{"sys", "uptime", "0x1"} {
		require.NoError(t, os.Mkdir(filepath.Join(p.proc, name), 0o750))
	}
	p.mounts("self", agentMount(900, "rw"))
	return p
}

func (p *pod) mounts(process, lines string) {
	dir := filepath.Join(p.proc, process)
	require.NoError(p.t, os.MkdirAll(dir, 0o750))
	require.NoError(p.t, os.WriteFile(filepath.Join(dir, "mountinfo"), []byte("22 27 0:21 / /sys rw,nosuid - sysfs sysfs rw\n"+lines), 0o600))
}

// process adds one with a parent, a start and the mounts of its container.
func (p *pod) process(pid, parent, started int, name, mounts string) {
	p.mounts(strconv.Itoa(pid), mounts)
	stat := fmt.Sprintf("%d (%s) S %d 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 %d 1000 10 18446744073709551615 1 1 0", pid, name, parent, started)
	require.NoError(p.t, os.WriteFile(filepath.Join(p.proc, strconv.Itoa(pid), "stat"), []byte(stat), 0o600))
}

func agentMount(id int, mode string) string {
	return fmt.Sprintf("%d 880 0:77 / /orcon/bindings %s,relatime - tmpfs tmpfs rw,size=16384k\n", id, mode)
}

// served are the mounts of a container that has the bindings.
func served(id int) string {
	return fmt.Sprintf("%d 881 0:77 / /bindings ro,relatime - tmpfs tmpfs rw,size=16384k\n", id)
}

func (p *pod) signal(name string) (int, error) {
	return process.Containers{Proc: p.proc, Bindings: "/orcon/bindings", Kill: func(pid int, s syscall.Signal) error {
		if err := p.errs[pid]; err != nil {
			return err
		}
		p.sent[pid] = s
		return nil
	}}.Signal(name)
}

// The main process of each container that has the files, read-only, gets the
// signal, and nobody else (SAFETY.md I24, I28).
func TestSignal(t *testing.T) {
	p := newPod(t)
	p.process(1, 0, 10, "pause", "")
	p.process(7, 0, 20, "relation-agent", agentMount(901, "rw"))
	p.process(15, 0, 20, "relation-agent", agentMount(901, "rw"))
	p.process(20, 0, 30, "nginx: master", served(910))
	p.process(21, 20, 31, "nginx: worker", served(910))
	p.process(19, 0, 99, "sh", served(910)) // kubectl exec, after the numbers began anew
	p.process(30, 0, 30, "a) S 7 (b", served(920))
	p.process(40, 0, 30, "mesh", "950 1 0:99 / /elsewhere ro - tmpfs tmpfs rw\n")
	require.NoError(t, os.Mkdir(filepath.Join(p.proc, "50"), 0o750)) // has just ended
	reached, err := p.signal("HUP")
	require.NoError(t, err)
	assert.Equal(t, 2, reached)
	assert.Equal(t, map[int]syscall.Signal{20: syscall.SIGHUP, 30: syscall.SIGHUP}, p.sent)
}

func TestSignalThatFails(t *testing.T) {
	p := newPod(t)
	p.process(20, 0, 30, "a", served(910))
	p.process(30, 0, 30, "b", served(920))
	p.process(40, 0, 30, "c", served(930))
	p.errs[20], p.errs[30] = syscall.EPERM, syscall.ESRCH
	reached, err := p.signal("USR1")
	require.ErrorIs(t, err, syscall.EPERM)
	assert.NotErrorIs(t, err, syscall.ESRCH, "who has ended needs no signal")
	assert.Equal(t, 1, reached)

	_, err = p.signal("KILL")
	require.ErrorIs(t, err, process.ErrSignal)
	p.mounts("self", "")
	_, err = p.signal("HUP")
	require.ErrorIs(t, err, os.ErrNotExist, "without the volume nobody can be told apart")
}

// Each signal that may be declared can be sent.
func TestEverySignal(t *testing.T) {
	for _, name := range injection.Signals() {
		_, err := newPod(t).signal(name)
		require.NoError(t, err, name)
	}
}

// Of the machine's own processes nobody has a volume that is not there, and to be
// hidden is for processes of containers.
func TestRealProc(t *testing.T) {
	_, err := process.Containers{Proc: "/proc", Bindings: "/nowhere"}.Signal("HUP")
	require.ErrorIs(t, err, os.ErrNotExist)
	reached, err := process.Containers{Proc: "/proc", Bindings: "/proc"}.Signal("HUP")
	require.NoError(t, err)
	assert.Zero(t, reached)
	assert.NoError(t, process.Hide())
}
