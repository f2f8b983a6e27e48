package jobprocess

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/exchange"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
)

// Machine implements executor.Executor.
type Machine struct {
	// Folder holds the folders of the attempts, which end with Remove.
	Folder string
	// Command is the command line of job-runner.
	Command []string
	// Address is that of the jobs API.
	Address string
	// Keeper are further arguments of keepers.
	Keeper []string
	// Identify makes the token of a keeper, whose claimant has an ID and a machine.
	Identify func(n executor.Name, id, where string) (token string, err error)

	mutex sync.Mutex
	// ending are the attempts whose processes are being stopped.
	ending map[executor.Name]bool
}

// ErrIncomplete is wrapped where a setting is missing.
var ErrIncomplete = errors.New("a setting of the process executor is missing")

// The folders and files of an attempt.
const (
	exchangeName = "exchange"
	stateName    = "state"
	scratchName  = "scratch"
	workName     = "work"
	logsName     = "logs"
	homeName     = "home"
	tokenName    = "token"
	lockName     = "keeper.lock"
	// startedName is there once both processes were started.
	startedName = "started"
)

// attempt is the folder of an attempt.
type attempt string

// of returns the folder of an attempt.
func (m *Machine) of(n executor.Name) attempt {
	return attempt(filepath.Join(m.Folder, n.UID+"."+strconv.Itoa(n.Number)))
}

func (a attempt) path(name string) string { return filepath.Join(string(a), name) }

func (a attempt) exchange() exchange.Folder { return exchange.Folder(a.path(exchangeName)) }

// there reports whether the attempt has a file.
func (a attempt) there(name string) bool {
	_, err := os.Stat(a.path(name))
	return err == nil
}

// Start implements executor.Executor.
func (m *Machine) Start(_ context.Context, at executor.Attempt) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	a := m.of(at.Name)
	if a.there(startedName) {
		return nil
	}
	err := m.prepare(a, at)
	if err == nil {
		err = m.startKeeper(a, at)
	}
	if err == nil {
		err = m.startShim(a, at)
	}
	if err == nil {
		err = os.WriteFile(a.path(startedName), nil, 0o600)
	}
	if err != nil {
		return fmt.Errorf("cannot start the processes of attempt %d of Run %s: %w", at.Number, at.Run, err)
	}
	return nil
}

// prepare makes the folders and the token.
func (m *Machine) prepare(a attempt, at executor.Attempt) error {
	if len(m.Command) == 0 || m.Identify == nil || at.UID == "" {
		return fmt.Errorf("%w: set Command, Identify and the UID of the Run", ErrIncomplete)
	}
	for _, name := range []string{exchangeName, stateName, scratchName, workName, logsName, homeName} {
		if err := os.MkdirAll(a.path(name), 0o700); err != nil {
			return err
		}
	}
	token, err := m.Identify(at.Name, claimant(at.Name), where())
	if err != nil {
		return err
	}
	return os.WriteFile(a.path(tokenName), []byte(token), 0o600)
}

// claimant returns the ID by which an attempt is claimed.
func claimant(n executor.Name) string { return fmt.Sprintf("process-%s-%d", n.UID, n.Number) }

// where returns the name of this machine.
func where() string {
	name, err := os.Hostname()
	if err != nil {
		return "this machine"
	}
	return name
}

// Look implements executor.Executor.
func (m *Machine) Look(_ context.Context, n executor.Name) (executor.Sight, error) {
	a := m.of(n)
	if !a.there(startedName) {
		return executor.Sight{}, nil
	}
	over, err := a.over()
	if err != nil {
		return executor.Sight{}, err
	}
	ended, err := exchange.Reported(a.exchange())
	if err != nil {
		return executor.Sight{}, err
	}
	return executor.Sight{
		Pod: run.Pod{Made: true, Progress: "its keeper has not claimed it yet", Stopped: ended, Where: where()}, Claimant: claimant(n), Over: over,
	}, nil
}

// over reports whether nothing comes of the attempt any more. Nothing starts another keeper: without one, a shim that was
// not let start waits in vain.
func (a attempt) over() (bool, error) {
	keeper, shim, err := a.alive()
	switch {
	case err != nil, !keeper && !shim:
		return err == nil, err
	case keeper:
		return false, a.relieve(shim)
	}
	let, err := exchange.Permitted(a.exchange())
	return !let, err
}

// relieve stops a keeper whose shim ended before it started the program, as a kubelet does with the sidecars of a container
// that has ended: it would wait for ever.
func (a attempt) relieve(shim bool) error {
	if shim || a.exists(shimProcess) {
		return nil // it marks itself as alive a moment after its start
	}
	if started, err := a.exchange().ReadStarted(); started != nil || err != nil {
		return err
	}
	return a.signal(keeperProcess, syscall.SIGTERM)
}

// alive reports which of the processes live.
func (a attempt) alive() (keeper, shim bool, err error) {
	if keeper, err = locked(a.path(lockName)); err == nil {
		shim, err = a.exchange().Shim().Alive()
	}
	return keeper, shim, err
}

// locked reports whether a process has a file locked.
func locked(path string) (bool, error) {
	file, err := os.Open(filepath.Clean(path))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer file.Close() //nolint:errcheck // it is only read
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}

// Remove implements executor.Executor. The folder goes when the processes have ended.
func (m *Machine) Remove(_ context.Context, n executor.Name) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	a := m.of(n)
	if m.ending[n] {
		return nil
	}
	if done, err := a.end(); done || err != nil {
		return err
	}
	if m.ending == nil {
		m.ending = map[executor.Name]bool{}
	}
	m.ending[n] = true
	go m.await(n, a)
	return nil
}

// look is how often processes are looked at that are being stopped.
const look = 50 * time.Millisecond

// await waits until the processes of an attempt have ended and its folder is gone.
func (m *Machine) await(n executor.Name, a attempt) {
	ticks := time.NewTicker(look)
	defer ticks.Stop()
	for range ticks.C {
		done, err := a.end()
		if err != nil {
			glog.Warningf("cannot end attempt %d of Run %s: %v", n.Number, n.Run, err)
		}
		if done {
			break
		}
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	delete(m.ending, n)
}

// end does what is due to end an attempt, and reports whether nothing is left of it. The keeper stops the program and
// keeps its state; without a keeper, the shim stops it and is then killed.
func (a attempt) end() (done bool, err error) {
	keeper, shim, err := a.alive()
	switch {
	case err != nil:
		return false, err
	case keeper:
		return false, a.signal(keeperProcess, syscall.SIGTERM)
	case !shim:
		return true, os.RemoveAll(string(a))
	}
	ended, err := exchange.Reported(a.exchange())
	switch {
	case err != nil:
		return false, err
	case !ended:
		return false, a.signal(shimProcess, syscall.SIGTERM)
	}
	return false, a.signal(shimProcess, syscall.SIGKILL)
}
