package git

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/go-git/go-git/v5/plumbing/transport"
	"golang.org/x/net/proxy"
)

// wayScheme is what the library takes for a kind of proxy.
const wayScheme = "orcon"

// The library opens connections for SSH by nobody's context, and waits for ever for a
// server that does not speak. Only a proxy may open them instead, and those it knows by
// their address alone.
//
//nolint:gochecknoglobals // the library knows kinds of proxies in a variable too
var (
	ways     sync.Map // of context.Context, by the host of the address
	wayCount atomic.Uint64
	register = sync.OnceFunc(func() {
		proxy.RegisterDialerType(wayScheme, func(at *url.URL, _ proxy.Dialer) (proxy.Dialer, error) { return way(at.Host), nil })
	})
)

// way opens connections that end with a context: it is the context's key in ways.
type way string

// openWay returns a way whose connections are closed when the context ends.
func openWay(ctx context.Context) (transport.ProxyOptions, func()) {
	register()
	w := way(strconv.FormatUint(wayCount.Add(1), 10))
	ways.Store(w, ctx)
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
	ctx, ok := found.(context.Context)
	if !ok {
		return nil, fmt.Errorf("the connection to %s was cancelled", address)
	}
	conn, err := proxy.Dial(ctx, network, address) // by the machine's own proxy, where it has one
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = conn.Close() }) // the error that counts is the context's
	return conn, nil
}
