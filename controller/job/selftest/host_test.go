package selftest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/exchange"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/shim"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
)

// asShim has this program be a shim, with its settings as JSON; asProgram has it be the program of runs.
const (
	asShim    = "ORCON_TEST_SHIM"
	asProgram = "ORCON_TEST_PROGRAM"
)

func TestMain(m *testing.M) {
	if text := os.Getenv(asShim); text != "" {
		_ = os.Unsetenv(asShim)
		s := shim.Shim{Clock: keeper.BootTime}
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			panic(err)
		}
		code, err := s.Run(context.Background())
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(code)
	}
	if os.Getenv(asProgram) != "" {
		os.Exit(Main(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// host carries out runs by processes of this machine, which are not isolated.
type host struct {
	t       *testing.T
	machine *Machine
	folder  string

	mutex sync.Mutex
	runs  map[executor.Name]*hosted
}

// hosted is a run on a host.
type hosted struct {
	shim *exec.Cmd
	end  context.CancelFunc
	over chan struct{}
}

func newHost(t *testing.T) *host {
	folder, err := os.MkdirTemp("", "h") //nolint:usetesting // a socket's path is short
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	h := &host{t: t, folder: folder, runs: map[executor.Name]*hosted{}}
	h.machine = &Machine{Containers: h, Command: []string{os.Args[0]}, Patience: time.Minute}
	return h
}

func (h *host) path(n executor.Name, name string) string {
	return filepath.Join(h.folder, n.UID[len(n.UID)-8:], name)
}

// Folders implements Containers.
func (h *host) Folders(n executor.Name) (state string, shared exchange.Folder) {
	return h.path(n, "state"), exchange.Folder(h.path(n, "exchange"))
}

// environment returns the variables of a run, with its folders.
func (h *host) environment(a executor.Attempt) (all []string) {
	folders := map[string]string{contract.State: "state", contract.Logs: "logs", contract.Home: "home", contract.Temporary: "tmp", contract.Secrets: "none"}
	for name, value := range a.Environment() {
		for folder, own := range folders {
			if rest, below := strings.CutPrefix(value, folder); below {
				value = h.path(a.Name, own) + rest
				break
			}
		}
		all = append(all, name+"="+value)
	}
	return append(all, asProgram+"=1")
}

// Start implements executor.Executor.
func (h *host) Start(_ context.Context, a executor.Attempt) error {
	for _, name := range []string{"state", "logs", "home", "tmp", "work", "scratch", "exchange"} {
		if err := os.MkdirAll(h.path(a.Name, name), 0o700); err != nil {
			return err
		}
	}
	state, shared := h.Folders(a.Name)
	text, err := json.Marshal(map[string]any{
		"Exchange": shared, "Command": append(a.Input.Entrypoint, a.Input.Args...), "Folder": h.path(a.Name, "work"), "Grace": a.Timing.Grace,
		"Patience": time.Minute,
	})
	if err != nil {
		return err
	}
	ctx, end := context.WithCancel(context.Background())
	one := &hosted{shim: exec.Command(os.Args[0]), end: end, over: make(chan struct{})}
	one.shim.Env = append(append(os.Environ(), h.environment(a)...), asShim+"="+string(text))
	one.shim.Stderr = os.Stderr
	if err := one.shim.Start(); err != nil {
		end()
		return err
	}
	k := &keeper.Keeper{
		Exchange: shared, Clock: keeper.BootTime, Claimant: keeper.Claimant{Run: a.UID, Attempt: 1, Place: "host"},
		Settings: keeper.Settings{
			State: state, Logs: h.path(a.Name, "logs"), Scratch: h.path(a.Name, "scratch"), Limit: 64 << 20, Retry: 20 * time.Millisecond,
		},
	}
	h.mutex.Lock()
	h.runs[a.Name] = one
	h.mutex.Unlock()
	go func() {
		defer close(one.over)
		_ = h.machine.Keep(ctx, k)
		_ = one.shim.Wait()
	}()
	return nil
}

// Look implements executor.Executor.
func (h *host) Look(_ context.Context, n executor.Name) (executor.Sight, error) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	one := h.runs[n]
	if one == nil {
		return executor.Sight{}, nil
	}
	select {
	case <-one.over:
		return executor.Sight{Pod: run.Pod{Made: true}, Over: true}, nil
	default:
		return executor.Sight{Pod: run.Pod{Made: true, Obstacle: "it goes on"}}, nil
	}
}

// Remove implements executor.Executor.
func (h *host) Remove(_ context.Context, n executor.Name) error {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if one := h.runs[n]; one != nil {
		one.end()
		_ = one.shim.Process.Kill()
		<-one.over
		delete(h.runs, n)
	}
	return os.RemoveAll(h.path(n, ""))
}

// Kill implements Containers.
func (h *host) Kill(_ context.Context, n executor.Name) error {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.runs[n].shim.Process.Kill()
}
