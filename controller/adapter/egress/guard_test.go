package egress_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/egress"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/destination"
)

// get requests an address by a transport.
func get(t *testing.T, carry http.RoundTripper, address string) error {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	response, err := carry.RoundTrip(r)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// TestProxy fetches by a proxy, which resolves names itself: hosts are judged as they are written, and
// the proxy may have any address.
func TestProxy(t *testing.T) {
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked = append(asked, r.URL.Host) }))
	defer proxy.Close()
	at, err := url.Parse(proxy.URL)
	require.NoError(t, err)
	carry := egress.Guard{}.Transport(&http.Transport{Proxy: http.ProxyURL(at)})
	for _, host := range []string{"169.254.169.254", "[::1]", "127.0.0.1", "db.shop.svc", "localhost"} {
		err := get(t, carry, "http://"+host+"/a")
		assert.ErrorContains(t, err, "which is refused", host)
	}
	err = get(t, carry, "http://intern.example.org/a")
	require.NoError(t, err)
	assert.Equal(t, []string{"intern.example.org"}, asked)
}

// TestProxyReadsMore has hosts that a proxy, or net/http before it, reads as an address or as a name of the cluster.
func TestProxyReadsMore(t *testing.T) {
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked = append(asked, r.Host) }))
	defer proxy.Close()
	at, err := url.Parse(proxy.URL)
	require.NoError(t, err)
	carry := egress.Guard{}.Transport(&http.Transport{Proxy: http.ProxyURL(at)})
	for _, host := range []string{"169.254.169.254.", "0xa9fea9fe", "2852039166", "127.1", "0177.0.0.1", "１２７.0.0.1", "db.shop.ｓvc"} {
		for _, scheme := range []string{"http://", "https://"} {
			assert.ErrorContains(t, get(t, carry, scheme+host+"/a"), "which is refused", host)
		}
	}
	assert.Empty(t, asked)
}

// TestSocks opens connections by the proxy of ALL_PROXY, and directly to the hosts of NO_PROXY: both
// are judged.
func TestSocks(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	asked := make(chan struct{}, 1)
	go func() {
		conn, err := listener.Accept()
		if err == nil {
			asked <- struct{}{}
			_ = conn.Close()
		}
	}()
	t.Setenv("ALL_PROXY", "socks5://"+listener.Addr().String())
	t.Setenv("NO_PROXY", "127.0.0.3")
	for _, address := range []string{"127.0.0.1:22", "169.254.169.254:22", "db.shop.svc:22", "127.0.0.3:22"} {
		_, err := egress.Guard{}.DialByProxy(t.Context(), "tcp", address)
		require.ErrorContains(t, err, "which is refused", address)
	}
	assert.Empty(t, asked)
	_, err = egress.Guard{}.DialByProxy(t.Context(), "tcp", "intern.example.org:22")
	require.Error(t, err, "it hangs up")
	<-asked
}

// resolves answers each question for an address of IPv4 with this one.
func resolves(t *testing.T, address [4]byte) *net.Resolver {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.Close() })
	go func() {
		for packet := make([]byte, 512); ; {
			n, from, err := server.ReadFrom(packet)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if !assert.NoError(t, m.Unpack(packet[:n])) {
				return
			}
			m.Response, m.Additionals = true, nil
			if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
				m.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class}, Body: &dnsmessage.AResource{A: address}}}
			}
			answer, err := m.Pack()
			assert.NoError(t, err)
			_, _ = server.WriteTo(answer, from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

// TestResolved dials names by the address that they are resolved to, which the error does not name.
func TestResolved(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	require.NoError(t, err)
	before := net.DefaultResolver
	net.DefaultResolver = resolves(t, [4]byte{127, 0, 0, 1})
	t.Cleanup(func() { net.DefaultResolver = before })
	g, address := egress.Guard{}, net.JoinHostPort("intern.example.org", port)
	_, err = g.DialContext(t.Context(), "tcp", address)
	var refused *destination.RefusedError
	require.ErrorAs(t, err, &refused)
	assert.NotContains(t, err.Error(), "127.0.0.1")
	require.NoError(t, g.Rules.Allowed.Add("intern.example.org"))
	conn, err := g.DialContext(t.Context(), "tcp", address)
	require.NoError(t, err)
	require.NoError(t, conn.Close())
}
