package listener

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

// The bounds of connections and requests in one replica.
const (
	// maxStrangers is how many connections may have proven nothing, and maxStrangersEach how many of them may come
	// from one address. Pods behind a node's address share it.
	maxStrangers, maxStrangersEach = 2048, 256
	// proveWithin is how long a connection may prove nothing.
	proveWithin = 15 * time.Second
	// maxConnections is how many connections a pod may have, and maxRequests how many requests at once, streams
	// among them.
	maxConnections, maxRequests = 32, 16
	// maxHeader is the size of the largest header of a request, in bytes.
	maxHeader = 16 << 10
	// headerWithin bounds a TLS handshake, and reading a header.
	headerWithin = 5 * time.Second
	// idle is how long a connection may have no request.
	idle = time.Minute
)

// New returns a server for many agents, each with a connection of its own that is silent most of the time. A peer
// that is gone without closing is detected by a ping; a connection without a stream is closed; and few bytes are
// buffered for each.
func New(address string, handler http.Handler, config *tls.Config) *http.Server {
	b := newBounds()
	return &http.Server{
		Addr: address, Handler: b.alone(handler),
		ReadHeaderTimeout: headerWithin, IdleTimeout: idle, MaxHeaderBytes: maxHeader,
		TLSConfig: config,
		HTTP2: &http.HTTP2Config{
			SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second, WriteByteTimeout: 15 * time.Second,
			MaxConcurrentStreams:          maxRequests,
			MaxReceiveBufferPerConnection: 128 << 10, MaxReceiveBufferPerStream: 64 << 10,
		},
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return b.accept(ctx, c) },
		ConnState: func(c net.Conn, state http.ConnState) {
			if state == http.StateClosed || state == http.StateHijacked {
				b.closed(c)
			}
		},
	}
}
