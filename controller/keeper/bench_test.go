package keeper_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/archive/state"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/directory"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/chunk"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/exchange"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/shim"
)

// part has this program be a shim or a keeper, with a bench as its value.
const (
	shimPart   = "ORCON_TEST_SHIM"
	keeperPart = "ORCON_TEST_KEEPER"
)

func TestMain(m *testing.M) {
	for name, be := range map[string]func(bench) int{shimPart: beShim, keeperPart: beKeeper} {
		if text := os.Getenv(name); text != "" {
			_ = errors.Join(os.Unsetenv(name), flag.Set("logtostderr", "true")) // a disk may be full
			var b bench
			if err := json.Unmarshal([]byte(text), &b); err != nil {
				panic(err)
			}
			os.Exit(be(b))
		}
	}
	os.Exit(m.Run())
}

// bench is a run without containers: its folders and its template, a shell script.
type bench struct {
	Base, Script, Ledger string
	Backend, Stored      string
	Renew, Checkpoint    time.Duration
	Drain, Retry         time.Duration
	Patience, Hold       time.Duration
	Limit                int64

	chunks   chunk.Sink
	contents keeper.ContentSource
	secrets  *lent
}

func newBench(t *testing.T, script string) bench {
	b := bench{
		Base: t.TempDir(), Script: script, Renew: 50 * time.Millisecond, Checkpoint: time.Hour, Drain: patience, Retry: 10 * time.Millisecond,
		Patience: patience, Limit: 1 << 20,
	}
	for _, name := range []string{"state", "scratch", "exchange", "work", "logs"} {
		require.NoError(t, os.Mkdir(filepath.Join(b.Base, name), 0o700))
	}
	return b
}

func (b bench) path(name string) string { return filepath.Join(b.Base, name) }

func (b bench) exchange() exchange.Folder { return exchange.Folder(b.path("exchange")) }

// keeperWith returns a keeper of the bench.
func (b bench) keeperWith(ledger keeper.Ledger, blobs keeper.Blobs, terminate <-chan struct{}) *keeper.Keeper {
	k := &keeper.Keeper{
		Ledger: ledger, Blobs: blobs, Exchange: b.exchange(), Claimant: keeper.Claimant{Run: "r", Attempt: 1, Place: "pod"},
		Chunks: b.chunks, Content: b.contents,
		Settings: keeper.Settings{
			State: b.path("state"), Scratch: b.path("scratch"), Logs: b.path("logs"), Work: b.path("work"), Secrets: b.path("secrets"),
			Limit: b.Limit, Stored: b.Stored,
			Renew: b.Renew, Checkpoint: b.Checkpoint, Retry: b.Retry, Backend: b.Backend, Drain: b.Drain,
		},
		Clock: keeper.BootTime, Terminate: terminate,
	}
	if b.secrets != nil {
		k.Secrets = b.secrets
	}
	return k
}

func beShim(b bench) int {
	s := shim.Shim{
		Exchange: b.exchange(), Command: []string{"/bin/sh", "-c", b.Script}, Folder: b.path("work"), Grace: 10 * time.Second,
		Patience: b.Patience, Failure: shim.Failure{Hold: b.Hold}, Clock: keeper.BootTime,
	}
	code, err := s.Run(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return code
}

func beKeeper(b bench) int {
	store, err := directory.Open(b.path("blobs"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	_ = os.WriteFile(b.path(fmt.Sprint("ready-", os.Getpid())), nil, 0o600)
	if err := b.keeperWith(client(b.Ledger), store, ctx.Done()).Run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// child is a part of the runner as a process of its own.
type child struct {
	*exec.Cmd

	ended chan struct{}
}

// start starts a part; it is killed at the end of the test.
func (b bench) start(t *testing.T, name string) *child {
	text, err := json.Marshal(b)
	require.NoError(t, err)
	c := &child{exec.Command(os.Args[0]), make(chan struct{})}
	c.Env = append(os.Environ(), name+"="+string(text), "STATE="+b.path("state"), "BASE="+b.Base)
	c.Stderr = os.Stderr
	require.NoError(t, c.Start())
	go func() {
		defer close(c.ended)
		_ = c.Wait()
	}()
	t.Cleanup(func() {
		_ = c.Process.Kill()
		<-c.ended
	})
	return c
}

// patience bounds every wait: a loaded machine takes its time, a broken runner does not end at all.
const patience = 2 * time.Minute

// code waits for the end of a part and returns its exit code: -1 for a signal.
func (c *child) code(t *testing.T) int {
	select {
	case <-c.ended:
	case <-time.After(patience):
		require.Fail(t, "it does not end")
	}
	return c.ProcessState.ExitCode()
}

// until waits for a condition.
func until(t *testing.T, what string, met func() bool) {
	require.Eventually(t, met, patience, 5*time.Millisecond, what)
}

// there reports whether a file of the bench is there.
func (b bench) there(name string) bool {
	_, err := os.Stat(b.path(name))
	return err == nil
}

func (b bench) read(t *testing.T, name string) string {
	text, err := os.ReadFile(b.path(name))
	require.NoError(t, err)
	return string(text)
}

// store opens the blobs of a bench.
func (b bench) store(t *testing.T) *directory.Store {
	store, err := directory.Open(b.path("blobs"))
	require.NoError(t, err)
	t.Cleanup(func() { store.Close() })
	return store
}

// restored returns a folder with a stored state.
func restored(t *testing.T, store *directory.Store, s keeper.State) string {
	in, err := store.Get(t.Context(), s.Blob)
	require.NoError(t, err)
	defer in.Close()
	file, ok := in.(*os.File)
	require.True(t, ok)
	folder := t.TempDir()
	require.NoError(t, state.Restore(folder, file, s.Digest, s.Size))
	return folder
}

// seed stores a state with one file and returns it.
func seed(t *testing.T, store *directory.Store, name, content string) *keeper.State {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600))
	var out strings.Builder
	summary, err := state.Capture(&out, folder, state.Options{Limit: 1 << 20})
	require.NoError(t, err)
	key := blob.Key{Workspace: "w", Fence: 1, Name: "seed"}
	require.NoError(t, store.Put(t.Context(), key, strings.NewReader(out.String())))
	return &keeper.State{Digest: summary.Digest, Blob: key, Size: summary.Size}
}

// hold is a hold with generous times.
func hold() keeper.Hold {
	return keeper.Hold{Exclusive: true, Lost: time.Hour, Grace: 30 * time.Second}
}

// run has a keeper and a shim of the bench carry a run to its end. It returns the exit code of the shim and the
// keeper's error.
func (b bench) run(t *testing.T, m *model, store keeper.Blobs, during func(shim *child, terminate func())) (int, error) {
	terminated := make(chan struct{})
	result := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	go func() { result <- b.keeperWith(m, store, terminated).Run(ctx) }()
	s := b.start(t, shimPart)
	if during != nil {
		during(s, func() { close(terminated) })
	}
	select {
	case err := <-result:
		return s.code(t), err
	case <-time.After(patience):
		cancel()
		return 0, errors.Join(errors.New("the keeper does not end"), <-result)
	}
}
