package keeper_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/rpc"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
)

// model is a ledger of one workspace, small and correct: every write needs the holder, its fence and its base.
type model struct {
	mutex       sync.Mutex
	next        keeper.Hold
	fence       int64
	holder      *keeper.Holder
	base        int64
	checkpoints []keeper.Checkpoint
	renewals    int
	// delay is that of the last renewal.
	delay     job.Delay
	cancelled bool
	ends      []keeper.End
	late      []keeper.End
	// fail makes the next calls fail in passing: after their effect, as where an answer is lost.
	fail int
	// mute makes renewals fail, and muted counts those.
	mute  bool
	muted int
}

var errLost = errors.New("the answer was lost")

// passing returns an error while calls are to fail.
func (m *model) passing() error {
	if m.fail > 0 {
		m.fail--
		return errLost
	}
	return nil
}

func (m *model) Claim(_ context.Context, c keeper.Claimant) (keeper.Hold, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.holder == nil && len(m.ends) == 0 {
		m.fence++
		m.holder = &keeper.Holder{Claimant: c, Fence: m.fence}
		m.next.Fence, m.next.Workspace = m.fence, "w"
		m.base = m.next.Generation
	}
	if m.holder == nil || m.holder.Claimant != c {
		return keeper.Hold{}, fmt.Errorf("%w: %v", keeper.ErrConflict, m.holder)
	}
	m.next.Sequence = int64(len(m.checkpoints))
	return m.next, m.passing()
}

func (m *model) check(h keeper.Holder) error {
	if m.holder == nil || *m.holder != h {
		return keeper.ErrStale
	}
	return nil
}

func (m *model) Renew(_ context.Context, h keeper.Holder, d job.Delay) (keeper.Renewal, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if err := m.check(h); err != nil {
		return keeper.Renewal{}, err
	}
	if m.mute {
		m.muted++
		return keeper.Renewal{}, errLost
	}
	m.renewals++
	m.delay = d
	return keeper.Renewal{Cancel: m.cancelled}, nil
}

func (m *model) Checkpoint(_ context.Context, h keeper.Holder, c keeper.Checkpoint) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if err := m.check(h); err != nil {
		return err
	}
	if n := len(m.checkpoints); n > 0 && m.checkpoints[n-1] == c {
		return m.passing() // a repeated one changes nothing
	}
	if n := len(m.checkpoints); n > 0 && m.checkpoints[n-1].Sequence >= c.Sequence {
		return fmt.Errorf("%w: checkpoint %d comes after %d", keeper.ErrConflict, c.Sequence, m.checkpoints[n-1].Sequence)
	}
	m.checkpoints = append(m.checkpoints, c)
	return m.passing()
}

func (m *model) End(_ context.Context, h keeper.Holder, e keeper.End) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if err := m.check(h); err != nil || e.Base != m.base {
		m.late = append(m.late, e)
		return errors.Join(err, keeper.ErrStale)
	}
	if len(m.ends) == 0 {
		m.ends = append(m.ends, e)
	}
	return m.passing()
}

// steal gives the workspace to another run.
func (m *model) steal() {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.fence++
	m.holder = &keeper.Holder{Claimant: keeper.Claimant{Run: "other"}, Fence: m.fence}
}

// look returns what use finds in the model.
func look[T any](m *model, use func() T) T {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return use()
}

// remote serves a model to keepers that are processes of their own.
type remote struct{ m *model }

// Call is one call of a ledger.
type Call struct {
	Holder     keeper.Holder
	Checkpoint keeper.Checkpoint
	End        keeper.End
}

func (r *remote) Claim(c Call, hold *keeper.Hold) (err error) {
	*hold, err = r.m.Claim(context.Background(), c.Holder.Claimant)
	return err
}

func (r *remote) Renew(c Call, renewal *keeper.Renewal) (err error) {
	*renewal, err = r.m.Renew(context.Background(), c.Holder, job.Delay{})
	return err
}

func (r *remote) Checkpoint(c Call, _ *struct{}) error {
	return r.m.Checkpoint(context.Background(), c.Holder, c.Checkpoint)
}

func (r *remote) End(c Call, _ *struct{}) error {
	return r.m.End(context.Background(), c.Holder, c.End)
}

// serve offers the model at a socket.
func serve(t *testing.T, m *model) string {
	socket := filepath.Join(t.TempDir(), "ledger")
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	server := rpc.NewServer()
	require.NoError(t, server.RegisterName("Ledger", &remote{m}))
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go server.ServeConn(connection)
		}
	}()
	t.Cleanup(func() { listener.Close() })
	return socket
}

// client is a ledger at a socket.
type client string

func (c client) call(ctx context.Context, name string, call Call, answer any) error {
	connection, err := (&net.Dialer{}).DialContext(ctx, "unix", string(c))
	if err != nil {
		return err
	}
	_ = connection.SetDeadline(time.Now().Add(time.Minute))
	caller := rpc.NewClient(connection)
	defer caller.Close()
	err = caller.Call("Ledger."+name, call, answer)
	for _, known := range []error{keeper.ErrStale, keeper.ErrConflict} {
		if err != nil && strings.Contains(err.Error(), known.Error()) {
			return fmt.Errorf("%w: %s", known, err.Error())
		}
	}
	return err
}

func (c client) Claim(ctx context.Context, claimant keeper.Claimant) (hold keeper.Hold, err error) {
	err = c.call(ctx, "Claim", Call{Holder: keeper.Holder{Claimant: claimant}}, &hold)
	return hold, err
}

func (c client) Renew(ctx context.Context, h keeper.Holder, _ job.Delay) (renewal keeper.Renewal, err error) {
	err = c.call(ctx, "Renew", Call{Holder: h}, &renewal)
	return renewal, err
}

func (c client) Checkpoint(ctx context.Context, h keeper.Holder, p keeper.Checkpoint) error {
	return c.call(ctx, "Checkpoint", Call{Holder: h, Checkpoint: p}, &struct{}{})
}

func (c client) End(ctx context.Context, h keeper.Holder, e keeper.End) error {
	return c.call(ctx, "End", Call{Holder: h, End: e}, &struct{}{})
}
