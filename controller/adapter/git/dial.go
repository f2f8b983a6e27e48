package git

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/plumbing/transport/client"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	"golang.org/x/net/proxy"
)

// carrier is the key of the transport in a context of a request.
type carrier struct{}

// carriedBy returns a context whose requests a transport carries. The library has one transport for all.
func carriedBy(ctx context.Context, t http.RoundTripper) context.Context {
	install()
	return context.WithValue(ctx, carrier{}, t)
}

// RoundTrip implements http.RoundTripper.
func (carrier) RoundTrip(r *http.Request) (*http.Response, error) {
	t, ok := r.Context().Value(carrier{}).(http.RoundTripper)
	if !ok {
		return nil, errors.New("the request has no transport")
	}
	return t.RoundTrip(r)
}

// wayScheme is the scheme that the library takes for a kind of proxy.
const wayScheme = "orcon"

// The library opens connections for SSH without a context, and waits for ever for a silent server. Only a proxy may
// open them instead, and the library knows proxies by their address alone.
//
//nolint:gochecknoglobals // the library knows kinds of proxies in a variable too
var (
	ways     sync.Map // of opening, by the host of the address
	wayCount atomic.Uint64
	install  = sync.OnceFunc(func() {
		protocol := githttp.NewClient(&http.Client{Transport: carrier{}})
		client.InstallProtocol("http", protocol)
		client.InstallProtocol("https", protocol)
	})
	register = sync.OnceFunc(func() {
		proxy.RegisterDialerType(wayScheme, func(at *url.URL, _ proxy.Dialer) (proxy.Dialer, error) { return way(at.Host), nil })
	})
)

// way opens connections that end with a context: it is the context's key in ways.
type way string

// Dial opens a connection.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// opening is how the connections of a way are opened, and the context that they end with.
type opening struct {
	ctx  context.Context //nolint:containedctx // the library has another one
	dial Dial
}

// openWay returns a way whose connections are closed when the context ends.
func openWay(ctx context.Context, dial Dial) (transport.ProxyOptions, func()) {
	register()
	if dial == nil {
		dial = proxy.Dial
	}
	w := way(strconv.FormatUint(wayCount.Add(1), 10))
	ways.Store(w, opening{ctx, dial})
	return transport.ProxyOptions{URL: wayScheme + "://" + string(w)}, func() { ways.Delete(w) }
}

// Dial implements proxy.Dialer.
func (w way) Dial(network, address string) (net.Conn, error) {
	return w.DialContext(context.Background(), network, address)
}

// DialContext implements proxy.ContextDialer. The library's context ends when the
// connection stands, so that it is not the one to keep.
func (w way) DialContext(_ context.Context, network, address string) (net.Conn, error) {
	found, _ := ways.Load(w)
	o, ok := found.(opening)
	if !ok {
		return nil, fmt.Errorf("the connection to %s was cancelled", address)
	}
	conn, err := o.dial(o.ctx, network, address)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(o.ctx, func() { _ = conn.Close() }) // the error that counts is the context's
	return conn, nil
}
