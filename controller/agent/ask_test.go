package agent

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/spool"
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
)

// patience of a probe in tests.
const patience = 200 * time.Millisecond

// full is a volume without room.
type full struct{}

func (full) Write(string, map[string]string) error  { return syscall.ENOSPC }
func (full) Remove(string) error                    { return nil }
func (full) Read(string) (map[string]string, error) { return nil, nil }
func (full) Names() ([]string, error)               { return nil, nil }

// empty is a snapshot without a relation.
func empty() *wire.Snapshot {
	return &wire.Snapshot{Revisions: map[string]uint64{"Relation": 1}, Unit: &wire.Unit{Application: "web", Namespace: "shop", Known: true}}
}

// A container that starts after the file is written has the canary, unless its kubelet reads no such file
// (TRUST.md A5).
func TestCanary(t *testing.T) {
	v := newVolumes(t, t.TempDir())
	New(settings(t, "db:pg", ""), v.disk(), &controller{}, nil).Start()
	env, err := os.ReadFile(v.path("run", "env"))
	require.NoError(t, err)
	assert.Contains(t, string(env), "ORCON_ENV_FILES='1'\n", "with the first file, before any data")
	for value, want := range map[string]error{"1": nil, "": ErrEnvFiles} {
		assert.ErrorIs(t, Canary(func(string) string { return value }), want)
	}
}

// A startup probe ends with what keeps the gate closed besides missing data, and waits on while data alone is
// missing (TRUST.md A4).
func TestProbe(t *testing.T) {
	refused := errors.New("cannot connect to https://controller: connection refused")
	tests := map[string]struct {
		why  string
		full bool
		do   func(*Agent)
		want string // of the error; "" while the probe waits on
	}{
		"Unreachable":  {"the network is what it waits for", false, func(a *Agent) { a.Lost(refused, false, time.Second) }, refused.Error()},
		"NeverTried":   {"a connection that hangs is one too", false, func(*Agent) {}, "cannot reach the controller"},
		"WaitsForData": {"its application's Events say for what", false, func(a *Agent) { a.Connected(); hear(a, empty()) }, ""},
		"Full": {"the data is there, and has no room", true, func(a *Agent) { a.Connected(); hear(a, grants(1, 0)) },
			"cannot write the files of the relations: cannot write bindings db, db-7: no space left on device"},
		"NoState": {"its databags have no room in the state volume (TRUST.md U2)", false, func(a *Agent) {
			a.bags.spool = spool.New(os.DevNull, 0, nil)
			a.Connected()
			a.Lost(a.Received(&wire.Piece{Text: []byte("a part")}), false, time.Second)
		}, "cannot keep a databag: "},
		"NoTools": {"handlers cannot run", false, func(a *Agent) { a.Connected(); a.Hold().ToolsInstalled(syscall.ENOSPC) }, "cannot install the tools"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			v := newVolumes(t, t.TempDir())
			disk := v.disk()
			if test.full {
				disk.Bindings = full{}
			}
			a := New(settings(t, "db:pg", ""), disk, &controller{}, nil)
			a.Start()
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			socket := filepath.Join(t.TempDir(), "agent.sock")
			go a.ServeSocket(ctx, socket)
			require.Eventually(t, func() bool { return ask(ctx, socket, pathStatus, io.Discard) == nil }, 20*time.Second, time.Millisecond)
			test.do(a)
			ended := make(chan error, 1)
			go func() { ended <- Wait(ctx, socket, disk.Opened, patience) }()
			if test.want != "" {
				require.ErrorContains(t, <-ended, test.want, test.why)
				return
			}
			select {
			case err := <-ended:
				assert.Fail(t, "it ended", err)
			case <-time.After(5 * patience): // several attempts, and it waits on
			}
			hear(a, grants(2, 0))
			assert.NoError(t, <-ended)
		})
	}

	t.Run("NoAgent", func(t *testing.T) {
		v := newVolumes(t, t.TempDir())
		assert.ErrorContains(t, Wait(t.Context(), v.path("none.sock"), v.disk().Opened, patience), "the agent does not answer")
	})
}
