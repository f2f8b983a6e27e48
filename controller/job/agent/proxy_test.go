package agent

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/node/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/node"
)

// proxy is a forward proxy for tunnels, which alone knows the name of the controller.
type proxy struct {
	t  *testing.T
	to string
	// answer is its answer to CONNECT; life ends each tunnel after a time, 0 for not at all.
	answer string
	life   time.Duration
	// tunnels counts those that it made, user is the one of the last request.
	tunnels atomic.Int64
	user    atomic.Value
}

// hidden is the name by which the proxy alone reaches the controller.
const hidden = "controller.orcon.test:9443"

// newProxy returns a proxy to a controller, and how an agent finds it.
func newProxy(t *testing.T, c *controller) (*proxy, func(*http.Request) (*url.URL, error)) {
	p := &proxy{t: t, to: strings.TrimPrefix(c.address, "https://"), answer: "HTTP/1.1 200 Connection established\r\n\r\n"}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			go p.carry(in)
		}
	}()
	return p, http.ProxyURL(&url.URL{Scheme: "http", User: url.UserPassword("ann", "secret"), Host: listener.Addr().String()})
}

// carry serves one connection.
func (p *proxy) carry(in net.Conn) {
	defer in.Close()
	reader := bufio.NewReader(in)
	r, err := http.ReadRequest(reader)
	if err != nil || r.Method != http.MethodConnect || r.Host != hidden {
		return
	}
	p.user.Store(r.Header.Get("Proxy-Authorization"))
	if _, err := io.WriteString(in, p.answer); err != nil || !strings.Contains(p.answer, " 200 ") {
		return
	}
	out, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer out.Close()
	p.tunnels.Add(1)
	if p.life > 0 {
		end := time.AfterFunc(p.life, func() { _ = errors.Join(in.Close(), out.Close()) })
		defer end.Stop()
	}
	go func() {
		_, _ = io.Copy(out, reader)
		_ = out.Close()
	}()
	_, _ = io.Copy(in, out)
}

// through returns a connection of an agent that has joined by the proxy.
func (c *controller) through(by func(*http.Request) (*url.URL, error)) (*Connection, error) {
	invitation := c.invitation()
	invitation.Address = "https://" + hidden
	i, err := New(filepath.Join(c.t.TempDir(), "identity.json"), invitation)
	require.NoError(c.t, err)
	connection := &Connection{Clock: time.Now, Proxy: by}
	return connection, Join(c.t.Context(), connection, i, invitation, longest)
}

// tunnelling is the protocol within tunnels, and how long each of them lasts.
type tunnelling struct {
	protocol string
	life     time.Duration
}

// speaks has a server speak the protocol, and no other one.
func (of tunnelling) speaks(t *testing.T) func(*http.Server) {
	return func(s *http.Server) {
		s.Protocols = &http.Protocols{}
		s.Protocols.SetHTTP1(of.protocol == "HTTP/1.1")
		s.Protocols.SetHTTP2(of.protocol != "HTTP/1.1")
		handler := s.Handler
		s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			assert.Equal(t, of.protocol, r.Proto)
			handler.ServeHTTP(w, r)
		})
	}
}

// JOBS.md J13: an agent reaches the controller by a proxy, by HTTP/2 and by HTTP/1.1, also by one that ends tunnels.
func TestProxy(t *testing.T) {
	for name, tc := range map[string]tunnelling{
		"HTTP/2": {"HTTP/2.0", 0}, "HTTP/1.1": {"HTTP/1.1", 0}, "ends tunnels": {"HTTP/2.0", 300 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			c, m := newController(t, tc.speaks(t)), &machine{sights: map[executor.Name]executor.Sight{}}
			p, by := newProxy(t, c)
			p.life = tc.life
			connection, err := c.through(by)
			require.NoError(t, err)
			c.run(&Agent{Connection: connection, Executor: m, Proof: unproved, Clock: time.Now, Longest: longest})
			c.tell(&wire.SyncResponse{Revision: "1", Attempts: []*wire.Attempt{offered(&wire.Program{Image: "image"}, wire.Order_ORDER_UNSPECIFIED)}})
			c.next(phase(wire.Phase_PHASE_UNSPECIFIED, ""))
			made := p.tunnels.Load()
			require.Positive(t, made)
			if tc.life > 0 {
				c.next(func(*wire.SyncRequest) bool { return p.tunnels.Load() > made+1 })
			}
			assert.Equal(t, "Basic YW5uOnNlY3JldA==", p.user.Load())
		})
	}
}

// A proxy that refuses is named, with what it answered and the cure, and without its password.
func TestProxyRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ answer, says string }{
		"forbidden": {"HTTP/1.1 403 Forbidden by rule 7\r\n\r\n", "refuses a tunnel to " + hidden + ": 403 Forbidden by rule 7: have it permit CONNECT"},
		"user":      {"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "requires a user for " + hidden + ": set HTTPS_PROXY=http://USER:PASSWORD@127.0.0.1:"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newController(t)
			p, by := newProxy(t, c)
			p.answer = tc.answer
			connection := &Connection{Clock: time.Now, Proxy: by}
			require.NoError(t, connection.Use(&Identity{Address: "https://" + hidden}, node.Digest(c.root.Certificate.Raw)))
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+hidden, http.NoBody)
			require.NoError(t, err)
			_, err = connection.RoundTrip(r) //nolint:bodyclose // there is none
			require.ErrorContains(t, err, "proxy http://ann:xxxxx@127.0.0.1:")
			require.ErrorContains(t, err, tc.says)
			assert.NotContains(t, err.Error(), "secret")
		})
	}
	gone := &Connection{Clock: time.Now, Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: "127.0.0.1:1"})}
	require.NoError(t, gone.Use(&Identity{Address: "https://" + hidden}))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+hidden, http.NoBody)
	require.NoError(t, err)
	_, err = gone.RoundTrip(r) //nolint:bodyclose // there is none
	require.ErrorContains(t, err, "proxyconnect tcp: dial tcp 127.0.0.1:1: ")
}
