package keeper_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
)

// withBackend gives a bench an address of its own.
func (b bench) withBackend(t *testing.T) bench {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	b.Backend = listener.Addr().String()
	require.NoError(t, listener.Close())
	return b
}

// post writes a state, as Terraform does, to the address that the template found.
func (b bench) post(t *testing.T, serial int) int {
	until(t, "the template has the address", func() bool { return b.there("address") })
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, strings.TrimSpace(b.read(t, "address")),
		strings.NewReader(fmt.Sprintf(`{"serial":%d}`, serial)))
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	return answer.StatusCode
}

// terraform is a template that waits while its state is written.
const terraform = `echo $TF_HTTP_ADDRESS > $BASE/new; mv $BASE/new $BASE/address; while ! test -e $BASE/go; do sleep 0.02; done`

// stored returns Terraform's state of a checkpoint or a generation.
func stored(t *testing.T, b bench, s keeper.State) string {
	store := b.store(t)
	defer store.Close()
	text, err := os.ReadFile(filepath.Join(restored(t, store, s), "terraform.tfstate"))
	require.NoError(t, err)
	return string(text)
}

// JOBS.md J12, JOBS-DESIGN.md 7: a write is answered after its checkpoint, so killing all loses nothing that was
// answered; and a keeper that is started again serves at the same address.
func TestBackend(t *testing.T) {
	b := newBench(t, terraform).withBackend(t)
	m := &model{next: hold()}
	b.Ledger = serve(t, m)
	k := b.start(t, keeperPart)
	s := b.start(t, shimPart)
	for serial := range 5 {
		require.Equal(t, http.StatusOK, b.post(t, serial))
	}
	require.NoError(t, k.Process.Kill())
	<-k.ended
	require.Len(t, m.checkpoints, 5)
	for serial, c := range m.checkpoints {
		assert.False(t, c.Torn)
		assert.Equal(t, fmt.Sprintf(`{"serial":%d}`, serial), stored(t, b, c.State))
	}
	k = b.start(t, keeperPart)
	until(t, "the keeper serves", func() bool {
		connection, err := net.Dial("tcp", b.Backend)
		return err == nil && connection.Close() == nil
	})
	require.Equal(t, http.StatusOK, b.post(t, 5))
	require.NoError(t, os.WriteFile(b.path("go"), nil, 0o600))
	require.Zero(t, k.code(t))
	require.Zero(t, s.code(t))
	e := only(t, m)
	require.Equal(t, job.Committed, e.Outcome)
	assert.Equal(t, `{"serial":5}`, stored(t, b, *e.State))
}

// JOBS-DESIGN.md 7: a write under a stale fence is not acknowledged.
func TestBackendIsStale(t *testing.T) {
	b := newBench(t, terraform).withBackend(t)
	b.Renew = time.Hour // so that the write meets it first
	m := &model{next: hold()}
	_, err := b.run(t, m, b.store(t), func(*child, func()) {
		require.Equal(t, http.StatusOK, b.post(t, 1))
		m.steal()
		assert.NotEqual(t, http.StatusOK, b.post(t, 2))
	})
	require.ErrorIs(t, err, keeper.ErrStale)
	assert.Len(t, m.checkpoints, 1)
}

// JOBS.md J8 and J12: a write waits for a jobs API that is away for a moment, and has one effect.
func TestBackendRepeats(t *testing.T) {
	b := newBench(t, terraform).withBackend(t)
	m := &model{next: hold()}
	_, err := b.run(t, m, b.store(t), func(*child, func()) {
		until(t, "the template runs", func() bool { return b.there("address") })
		look(m, func() bool { m.fail = 3; return true })
		assert.Equal(t, http.StatusOK, b.post(t, 1))
		require.NoError(t, os.WriteFile(b.path("go"), nil, 0o600))
	})
	require.NoError(t, err)
	assert.Zero(t, m.fail)
	assert.Len(t, m.checkpoints, 1)
}

// JOBS.md J6: a renewal that fails is repeated before the next one is due.
func TestRenewsSooner(t *testing.T) {
	b := newBench(t, `while ! test -e $BASE/go; do sleep 0.02; done`)
	b.Renew = time.Hour
	m := &model{next: hold(), mute: true}
	_, err := b.run(t, m, b.store(t), func(*child, func()) {
		until(t, "it runs", func() bool { return b.there("exchange/started") })
		look(m, func() bool { m.mute = false; return true })
		until(t, "it is renewed", func() bool { return b.there("exchange/renewed") })
		require.NoError(t, os.WriteFile(b.path("go"), nil, 0o600))
	})
	require.NoError(t, err)
}

// JOBS-DESIGN.md 4: several renewals come within the time after which a run counts as lost, however short that is.
func TestRenewsInTime(t *testing.T) {
	b := newBench(t, `while ! test -e $BASE/go; do sleep 0.02; done`)
	b.Renew = time.Hour
	m := &model{next: hold()}
	m.next.Lost = 200 * time.Millisecond
	_, err := b.run(t, m, b.store(t), func(*child, func()) {
		assert.Eventually(t, func() bool { return look(m, func() bool { return m.renewals > 3 }) }, 20*time.Second, 5*time.Millisecond, "it is renewed")
		require.NoError(t, os.WriteFile(b.path("go"), nil, 0o600))
	})
	require.NoError(t, err)
}

// JOBS-DESIGN.md 7: the first request of a program may be for its state, so it does not start before that is served.
func TestBackendComesFirst(t *testing.T) {
	b := newBench(t, terraform).withBackend(t)
	other, err := net.Listen("tcp", b.Backend)
	require.NoError(t, err)
	m, store := &model{next: hold()}, b.store(t)
	require.ErrorContains(t, b.keeperWith(m, store, nil).Run(t.Context()), "cannot serve Terraform's state")
	start, err := b.exchange().ReadStart()
	require.NoError(t, err)
	require.Nil(t, start)
	require.Empty(t, m.ends)

	require.NoError(t, other.Close())
	_, err = b.run(t, m, store, func(*child, func()) {
		require.Equal(t, http.StatusOK, b.post(t, 1))
		require.NoError(t, os.WriteFile(b.path("go"), nil, 0o600))
	})
	require.NoError(t, err)
	assert.Equal(t, job.Committed, only(t, m).Outcome)
}
