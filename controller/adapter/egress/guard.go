package egress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"syscall"
	"time"

	"golang.org/x/net/proxy"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/destination"
)

// patience is how long a connection may take.
const patience = 30 * time.Second

// Guard opens connections that its rules let through.
type Guard struct {
	Rules destination.Rules
}

// DialContext opens a connection to the first address of a host that is not refused.
func (g Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if err := g.Rules.CheckName(host); err != nil {
		return nil, err
	}
	dialer := net.Dialer{Timeout: patience}
	if !g.Rules.Allowed.Name(host) {
		dialer.Control = func(_, address string, _ syscall.RawConn) error { return g.check(address) }
	}
	conn, err := dialer.DialContext(ctx, network, address)
	if refused, ok := errors.AsType[*destination.RefusedError](err); ok {
		return nil, refused // without the address that the name has
	}
	return conn, err
}

// check refuses an address and port that a name was resolved to.
func (g Guard) check(address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("cannot read address %q: %w", address, err)
	}
	return g.Rules.CheckAddress(at.Addr())
}

// Dial implements proxy.Dialer.
func (g Guard) Dial(network, address string) (net.Conn, error) {
	return g.DialContext(context.Background(), network, address)
}

// DialByProxy opens a connection by the proxy of ALL_PROXY where there is one, but for the hosts of
// NO_PROXY, as proxy.Dial does.
func (g Guard) DialByProxy(ctx context.Context, network, address string) (net.Conn, error) {
	at, err := url.Parse(cmp.Or(os.Getenv("ALL_PROXY"), os.Getenv("all_proxy")))
	if err != nil || at.Host == "" {
		return g.DialContext(ctx, network, address)
	}
	via, err := proxy.FromURL(at, proxy.Direct)
	if err != nil {
		return nil, fmt.Errorf("cannot use the proxy of ALL_PROXY: %w", err)
	}
	hosts := proxy.NewPerHost(checking{g, via}, g)
	hosts.AddFromString(cmp.Or(os.Getenv("NO_PROXY"), os.Getenv("no_proxy")))
	return hosts.DialContext(ctx, network, address)
}

// checking is a proxy that is asked for hosts that are not refused.
type checking struct {
	Guard

	via proxy.Dialer
}

// DialContext implements proxy.ContextDialer.
func (c checking) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err == nil {
		err = c.Rules.CheckName(host)
	}
	if err != nil {
		return nil, err
	}
	if via, ok := c.via.(proxy.ContextDialer); ok {
		return via.DialContext(ctx, network, address)
	}
	return c.via.Dial(network, address)
}

// Open returns base for all servers. Its errors quote no answer.
func Open(base *http.Transport) http.RoundTripper { return open{base} }

type open struct{ base *http.Transport }

// RoundTrip implements http.RoundTripper.
func (o open) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := o.base.RoundTrip(r)
	return response, quiet(err)
}

// Transport returns base for servers that are not refused. It uses base's proxy. Its errors quote no
// answer.
func (g Guard) Transport(base *http.Transport) http.RoundTripper {
	t := transport{Guard: g, proxied: base, direct: base.Clone()}
	t.direct.Proxy, t.direct.DialContext = nil, g.DialContext
	return t
}

// transport carries requests directly, or by a proxy.
type transport struct {
	Guard

	direct, proxied *http.Transport
}

// RoundTrip implements http.RoundTripper. Each redirect is a request of its own.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	carrier := t.direct
	if t.proxied.Proxy != nil {
		at, err := t.proxied.Proxy(r)
		if err == nil && at != nil {
			carrier, err = t.proxied, t.Rules.CheckName(r.URL.Hostname())
		}
		if err != nil {
			if r.Body != nil {
				_ = r.Body.Close() // a RoundTripper must
			}
			return nil, err
		}
	}
	response, err := carrier.RoundTrip(r)
	return response, quiet(err)
}
