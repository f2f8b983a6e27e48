package stream_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/stream"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/stream/streamtest"
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
)

// ear is a listener that remembers.
type ear struct {
	mu        sync.Mutex
	heard     []*wire.Snapshot
	pieces    []string
	refusal   error
	lost      []error
	pauses    []time.Duration
	connected int
	answered  int
	revisions map[string]uint64
	relation  int64
}

func (e *ear) with(do func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	do()
}

func (e *ear) Used() (r map[string]uint64, last int64) {
	e.with(func() { r, last = e.revisions, e.relation })
	return r, last
}

func (e *ear) Eager() bool { return true }
func (e *ear) Connected()  { e.with(func() { e.connected++ }) }
func (e *ear) Received(p *wire.Piece) error {
	e.with(func() { e.pieces = append(e.pieces, p.GetVersion()) })
	return e.refusal
}

func (e *ear) Heard(s *wire.Snapshot) error {
	e.with(func() { e.heard = append(e.heard, s) })
	return e.refusal
}

func (e *ear) Lost(reason error, answered bool, pause time.Duration) {
	e.with(func() {
		if e.lost, e.pauses = append(e.lost, reason), append(e.pauses, pause); answered {
			e.answered++
		}
	})
}

// last returns the revision of what was heard last; 0 for nothing.
func (e *ear) last() (revision uint64) {
	e.with(func() {
		if n := len(e.heard); n > 0 {
			revision = e.heard[n-1].GetRevisions()["Relation"]
		}
	})
	return revision
}

func (e *ear) lostFor(text string) (found bool) {
	e.with(func() {
		for _, err := range e.lost {
			found = found || strings.Contains(err.Error(), text)
		}
	})
	return found
}

func snapshot(revision uint64) *wire.Snapshot {
	return &wire.Snapshot{Revisions: map[string]uint64{"Relation": revision}}
}

// running is a client that runs until the test ends.
type running struct {
	*ear
	client *stream.Client
	dir    string
	stop   func()
}

// run starts a client of address with a quick pace; change may alter it first.
func run(t *testing.T, address, trust string, change func(*stream.Client)) *running {
	t.Helper()
	r := &running{ear: &ear{}, dir: t.TempDir()}
	r.put(t, "token", "token-1\n")
	pace := stream.DefaultPace()
	pace.First, pace.MostEager, pace.Renew = time.Millisecond, 20*time.Millisecond, 5*time.Millisecond
	r.client = &stream.Client{
		Address: address, ServerName: streamtest.ServerName, Trust: trust,
		TrustFile: filepath.Join(r.dir, "ca.crt"), TrustKept: filepath.Join(r.dir, "kept.crt"), TokenFile: filepath.Join(r.dir, "token"),
		Listener: r.ear, Pace: pace,
	}
	if change != nil {
		change(r.client)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); r.client.Run(ctx) }()
	r.stop = func() {
		cancel()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			assert.Fail(t, "the client does not end with its context")
		}
	}
	t.Cleanup(r.stop)
	return r
}

func (r *running) put(t *testing.T, file, content string) {
	t.Helper()
	path := filepath.Join(r.dir, file)
	require.NoError(t, os.WriteFile(path+".new", []byte(content), 0o600))
	require.NoError(t, os.Rename(path+".new", path), "as the kubelet: all at once")
}

func eventually(t *testing.T, condition func() bool, why string) {
	t.Helper()
	require.Eventually(t, condition, time.Minute, 2*time.Millisecond, why)
}

func TestASnapshotIsHeardAtOnce(t *testing.T) {
	authority := streamtest.NewAuthority(t)
	controller := streamtest.Start(t, authority)
	r := run(t, controller.Address(), authority.PEM(), func(c *stream.Client) {
		c.Listener.(*ear).revisions = map[string]uint64{"Relation": 4}
		c.Listener.(*ear).relation = 7
	})
	controller.Say(snapshot(5))
	eventually(t, func() bool { return r.last() == 5 }, "the first")
	controller.Say(snapshot(6))
	eventually(t, func() bool { return r.last() == 6 }, "and the next")
	hello := controller.Hellos()[0]
	assert.Equal(t, "token-1", hello.GetToken(), "without the new line that ends the file")
	assert.Equal(t, map[string]uint64{"Relation": 4}, hello.GetRevisions(), "SAFETY.md V4")
	assert.EqualValues(t, 7, hello.GetLastRelation(), "TRUST.md T3")
	assert.Equal(t, 1, r.connected)
}

// SAFETY.md I19: the client comes back by itself.
func TestAControllerThatWasKilledIsFoundAgain(t *testing.T) {
	authority := streamtest.NewAuthority(t)
	controller := streamtest.Start(t, authority)
	controller.Say(snapshot(1))
	r := run(t, controller.Address(), authority.PEM(), nil)
	for revision := range uint64(3) {
		eventually(t, func() bool { return r.last() == revision+1 }, "connected")
		controller.Stop()
		eventually(t, func() bool { return r.lostFor("cannot converse with the controller at " + controller.Address()) }, "it is noticed")
		controller.Say(snapshot(revision + 2))
		controller.Start(authority)
	}
	eventually(t, func() bool { return r.last() == 4 }, "and found again")
}

// SAFETY.md S4: the token is renewed on the stream, when its file changes.
func TestTheTokenIsRenewedOnTheStream(t *testing.T) {
	authority := streamtest.NewAuthority(t)
	controller := streamtest.Start(t, authority)
	controller.Say(snapshot(1))
	r := run(t, controller.Address(), authority.PEM(), nil)
	eventually(t, func() bool { return r.last() == 1 }, "connected")
	r.put(t, "token", "token-2")
	eventually(t, func() bool { return len(controller.Renewals()) == 1 }, "renewed")
	require.NoError(t, os.Remove(filepath.Join(r.dir, "token")))
	r.put(t, "token", "\n")
	r.put(t, "token", "token-3")
	eventually(t, func() bool { return len(controller.Renewals()) == 2 }, "and again, after the file was away")
	assert.Equal(t, []string{"token-2", "token-3"}, controller.Renewals(), "each once")
	assert.Len(t, controller.Hellos(), 1, "on the same stream")

	controller.Stop()
	controller.Start(authority)
	eventually(t, func() bool { return len(controller.Hellos()) > 1 }, "reconnected")
	assert.Equal(t, "token-3", controller.Hellos()[1].GetToken(), "read anew at every dial")
}

// The client trusts both the bundle of the pod's admission and the file, until the file alone has verified a controller. It
// reads the file at every dial.
func TestTrust(t *testing.T) {
	old, next := streamtest.NewAuthority(t), streamtest.NewAuthority(t)
	tests := map[string]struct {
		why      string
		admitted string
		file     string
		trusted  bool
	}{
		"Admitted":     {why: "the file may not be there yet", admitted: next.PEM(), trusted: true},
		"File":         {why: "the pod may be older than the authority", admitted: old.PEM(), file: next.PEM(), trusted: true},
		"AdmittedOnly": {why: "the file may lag behind", admitted: next.PEM(), file: old.PEM(), trusted: true},
		"Neither":      {why: "an unknown authority is refused", admitted: old.PEM(), file: old.PEM()},
		"Nothing":      {why: "the system's authorities do not count"},
		"Garbage":      {why: "what is no certificate trusts nobody", admitted: "x", file: "-----BEGIN"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			controller := streamtest.Start(t, next)
			controller.Say(snapshot(1))
			r := run(t, controller.Address(), test.admitted, func(c *stream.Client) {
				require.NoError(t, os.WriteFile(c.TrustFile, []byte(test.file), 0o600))
			})
			if test.trusted {
				eventually(t, func() bool { return r.last() == 1 }, test.why)
				return
			}
			eventually(t, func() bool { return r.lostFor("cannot trust") }, test.why)
			assert.Empty(t, controller.Hellos(), "no token goes to a stranger")
			r.put(t, "ca.crt", next.PEM())
			eventually(t, func() bool { return r.last() == 1 }, "once the file is right, nobody's help is needed")
		})
	}
}

// An authority that is taken from the bundle is trusted no more: by a conversation that has begun, although the pod was
// admitted with it, after a restart, and when the bundle has gone (TRUST.md R6).
func TestRevokedAuthority(t *testing.T) {
	old, next := streamtest.NewAuthority(t), streamtest.NewAuthority(t)
	controller := streamtest.Start(t, old)
	controller.Say(snapshot(1))
	r := run(t, controller.Address(), old.PEM(), func(c *stream.Client) {
		require.NoError(t, os.WriteFile(c.TrustFile, []byte(old.PEM()), 0o600))
	})
	eventually(t, func() bool { return r.last() == 1 }, "it is trusted")
	r.put(t, "ca.crt", old.PEM()+next.PEM())
	eventually(t, func() bool {
		kept, _ := os.ReadFile(r.client.TrustKept)
		return string(kept) == old.PEM()
	}, "the bundle that verified it")
	r.put(t, "token", "token-2\n")
	eventually(t, func() bool { return len(controller.Renewals()) > 0 }, "the files are read again")
	assert.Len(t, controller.Hellos(), 1, "a further authority ends nothing")

	r.put(t, "ca.crt", next.PEM())
	eventually(t, func() bool { return r.lostFor("signed by no authority that is trusted now") }, "the conversation ends")
	eventually(t, func() bool { return r.lostFor("cannot trust the controller") }, "and no other begins")
	begun := len(controller.Hellos())
	controller.Stop()
	controller.Start(next)
	eventually(t, func() bool { return len(controller.Hellos()) > begun }, "the next authority is trusted")
	r.stop()

	require.NoError(t, os.Remove(r.client.TrustFile))
	controller.Stop()
	controller.Start(old)
	again := run(t, controller.Address(), old.PEM(), func(c *stream.Client) { c.TrustKept = r.client.TrustKept })
	eventually(t, func() bool { return again.lostFor("cannot trust the controller") }, "it is remembered")
}

func TestAnotherNameIsNotTrusted(t *testing.T) {
	authority := streamtest.NewAuthority(t)
	controller := streamtest.Start(t, authority)
	r := run(t, controller.Address(), authority.PEM(), func(c *stream.Client) { c.ServerName = "someone-else" })
	eventually(t, func() bool { return r.lostFor("its certificate is not for someone-else") }, "the reason is named")
	assert.Empty(t, controller.Hellos())
}

// SAFETY.md V4: a replica that is behind sends the agent away, and the agent goes
// elsewhere at once; but three in a row are a failure like any other.
func TestSentAwayByAReplicaThatIsBehind(t *testing.T) {
	authority := streamtest.NewAuthority(t)
	controller := streamtest.Start(t, authority)
	controller.Refuse(connect.NewError(connect.CodeUnavailable, errors.New("behind")))
	r := run(t, controller.Address(), authority.PEM(), func(c *stream.Client) {
		c.Pace.First, c.Pace.MostEager = time.Hour, time.Hour
	})
	eventually(t, func() (done bool) { r.with(func() { done = len(r.lost) == 4 }); return done }, "three at once, then a pause")
	r.with(func() {
		assert.Equal(t, []time.Duration{0, 0, 0}, r.pauses[:3])
		assert.NotZero(t, r.pauses[3])
		assert.ErrorContains(t, r.lost[0], "sends this agent away: unavailable: behind")
	})
}

// TRUST.md A7: a replica that is full is tried again with the usual pauses, since another one may have a place.
func TestAFullReplicaIsTriedAgain(t *testing.T) {
	authority := streamtest.NewAuthority(t)
	controller := streamtest.Start(t, authority)
	controller.Refuse(connect.NewError(connect.CodeResourceExhausted, errors.New("as many streams as it may")))
	r := run(t, controller.Address(), authority.PEM(), nil)
	eventually(t, func() (done bool) { r.with(func() { done = len(r.lost) >= 8 }); return done }, "again and again")
	r.with(func() {
		assert.NotZero(t, slices.Max(r.pauses), "with pauses")
		assert.ErrorContains(t, r.lost[0], "has no place for this agent: resource_exhausted: as many streams as it may")
	})
	controller.Say(snapshot(9))
	eventually(t, func() bool { return r.last() == 9 }, "until it has a place")
}

func TestTheReasonIsNamed(t *testing.T) {
	authority := streamtest.NewAuthority(t)
	tests := map[string]struct {
		why     string
		refusal error
		want    string
		answer  bool
	}{
		"Token":  {why: "an operator looks at the token", refusal: connect.NewError(connect.CodeUnauthenticated, errors.New("expired")), want: "does not accept this pod's token", answer: true},
		"Denied": {why: "an operator looks at the pod", refusal: connect.NewError(connect.CodePermissionDenied, errors.New("no such pod")), want: "refuses this pod", answer: true},
		"Ended":  {why: "a replica that stops is no fault", refusal: io.EOF, want: "ended the conversation"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			controller := streamtest.Start(t, authority)
			controller.Refuse(test.refusal)
			r := run(t, controller.Address(), authority.PEM(), nil)
			eventually(t, func() bool { return r.lostFor(test.want) }, test.why)
			r.with(func() { assert.Equal(t, test.answer, r.answered > 0, "TRUST.md A1: a refusal is an answer") })
			controller.Say(snapshot(9))
			eventually(t, func() bool { return r.last() == 9 }, "and when it is over it is over")
		})
	}
}

// A dead peer is found within Quiet and Answer, a mute one within Greeting.
func TestAPeerThatSaysNothingIsLeft(t *testing.T) {
	authority := streamtest.NewAuthority(t)
	t.Run("mute from the start", func(t *testing.T) {
		controller := streamtest.Start(t, authority)
		controller.Hush()
		r := run(t, controller.Address(), authority.PEM(), func(c *stream.Client) { c.Pace.Greeting = 50 * time.Millisecond })
		eventually(t, func() bool { return r.lostFor("said nothing") && len(controller.Hellos()) > 1 }, "and tried again")
		r.with(func() { assert.Zero(t, r.answered, "TRUST.md A1") })
	})
	t.Run("no TLS", func(t *testing.T) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer func() { _ = listener.Close() }()
		r := run(t, "https://"+listener.Addr().String(), authority.PEM(), func(c *stream.Client) { c.Pace.Dial = 50 * time.Millisecond })
		eventually(t, func() bool { return r.lostFor("TLS handshake timeout") }, "bounded")
	})
	t.Run("the network swallows everything", func(t *testing.T) {
		controller := streamtest.Start(t, authority)
		controller.Say(snapshot(1))
		swallow := newHole(t, strings.TrimPrefix(controller.Address(), "https://"))
		r := run(t, "https://"+swallow.address, authority.PEM(), func(c *stream.Client) {
			c.Pace.Quiet, c.Pace.Answer = 50*time.Millisecond, 50*time.Millisecond
		})
		eventually(t, func() bool { return r.last() == 1 }, "connected")
		swallow.open()
		eventually(t, func() bool { return r.lostFor("") }, "found by pings")
	})
}

// hole is a proxy that can stop passing anything on without closing anything.
type hole struct {
	address string
	mu      sync.Mutex
	swallow bool
}

func (h *hole) open() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.swallow = true
}

func newHole(t *testing.T, target string) *hole {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	h := &hole{address: listener.Addr().String()}
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", target)
			if err != nil {
				return
			}
			t.Cleanup(func() { _, _ = near.Close(), far.Close() })
			go h.pass(near, far)
			go h.pass(far, near)
		}
	}()
	return h
}

func (h *hole) pass(from, to net.Conn) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		h.mu.Lock()
		swallow := h.swallow
		h.mu.Unlock()
		if swallow {
			continue
		}
		if err != nil {
			return
		}
		_, _ = to.Write(buffer[:n])
	}
}

// A proxy that the pod's own environment names is the application's affair.
func TestNoProxyIsUsed(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	t.Setenv("https_proxy", "http://127.0.0.1:1")
	authority := streamtest.NewAuthority(t)
	controller := streamtest.Start(t, authority)
	controller.Say(snapshot(1))
	r := run(t, controller.Address(), authority.PEM(), nil)
	eventually(t, func() bool { return r.last() == 1 }, "dialled directly")
}

func TestALargeSnapshotIsRead(t *testing.T) {
	authority := streamtest.NewAuthority(t)
	controller := streamtest.Start(t, authority)
	r := run(t, controller.Address(), authority.PEM(), nil)
	s := snapshot(1)
	for range 20 {
		s.Relations = append(s.Relations, &wire.Relation{Bag: &wire.Databag{Data: map[string]string{"k": strings.Repeat("x", 512<<10)}}})
	}
	controller.Say(s)
	eventually(t, func() bool { return r.last() == 1 }, "20 bags of the largest size (RELATIONS.md P6)")
	s = snapshot(2)
	s.Relations = []*wire.Relation{{Message: strings.Repeat("x", 17<<20)}}
	controller.Say(s)
	eventually(t, func() bool { return r.lostFor("larger than configured max") }, "what no volume could hold is refused")
	controller.Say(snapshot(3))
	eventually(t, func() bool { return r.last() == 3 }, "and survived")
}

// TRUST.md U2: the agent announces that it accepts pieces, and what it cannot keep ends the conversation, which is tried
// again.
func TestWhatCannotBeKeptEndsTheConversation(t *testing.T) {
	authority := streamtest.NewAuthority(t)
	controller := streamtest.Start(t, authority)
	controller.Say(snapshot(1))
	r := run(t, controller.Address(), authority.PEM(), func(c *stream.Client) {
		c.Listener.(*ear).refusal = errors.New("no space left on device")
	})
	eventually(t, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.heard) > 1 && strings.HasSuffix(r.lost[0].Error(), ": no space left on device")
	}, "it is tried again")
	assert.True(t, controller.Hellos()[0].GetPieces())
}
