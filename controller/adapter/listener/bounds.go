package listener

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/crowd"
)

// ErrTooMany reports that a pod has as many connections or requests as it may.
var ErrTooMany = errors.New("the pod has too many connections or requests at once: close some, then try again")

// connection is one connection. Its fields are guarded by the mutex of its bounds.
type connection struct {
	net     net.Conn
	bounds  *bounds
	address string
	// pod is the holder that it was proven for; empty until then.
	pod string
	// busy reports that a stranger's request is being served.
	busy bool
	// late closes it unless it is proven in time.
	late *time.Timer
}

// bounds counts the connections and requests of a server.
type bounds struct {
	mu        sync.Mutex
	all       map[net.Conn]*connection
	strangers crowd.Crowd[*connection]
	pods      crowd.Crowd[*connection]
	requests  crowd.Crowd[*struct{ _ byte }]
}

func newBounds() *bounds {
	b := &bounds{all: map[net.Conn]*connection{}}
	b.strangers.Each, b.strangers.Total = maxStrangersEach, maxStrangers
	b.pods.Each, b.requests.Each = maxConnections, maxRequests
	return b
}

type key struct{}

// accept admits a new connection as a stranger's, or closes it.
func (b *bounds) accept(ctx context.Context, accepted net.Conn) context.Context {
	c := &connection{net: accepted, bounds: b, address: accepted.RemoteAddr().String()}
	if host, _, err := net.SplitHostPort(c.address); err == nil {
		c.address = host
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	evicted, admitted := b.strangers.Admit(c.address, c)
	if evicted != nil {
		(*evicted).refuse()
	}
	if !admitted {
		c.refuse()
		return context.WithValue(ctx, key{}, c)
	}
	c.late = time.AfterFunc(proveWithin, c.tooLate)
	b.all[accepted] = c
	return context.WithValue(ctx, key{}, c)
}

// refuse closes the connection without a word: a TLS alert could block.
func (c *connection) refuse() {
	Refused.Inc()
	raw := c.net
	if secure, is := raw.(*tls.Conn); is {
		raw = secure.NetConn()
	}
	_ = raw.Close()
}

func (c *connection) tooLate() {
	c.bounds.mu.Lock()
	defer c.bounds.mu.Unlock()
	if c.pod == "" {
		c.refuse()
	}
}

// closed forgets a connection.
func (b *bounds) closed(ended net.Conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.all[ended]
	if c == nil {
		return
	}
	delete(b.all, ended)
	c.late.Stop()
	b.strangers.Leave(c.address, c)
	b.pods.Leave(c.pod, c)
}

// alone lets a stranger's connection have one request at a time.
func (b *bounds) alone(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _ := r.Context().Value(key{}).(*connection)
		if !c.begin() {
			http.Error(w, "another request on this connection has to prove first which pod calls", http.StatusTooManyRequests)
			return
		}
		defer c.end()
		next.ServeHTTP(w, r)
	})
}

func (c *connection) begin() bool {
	c.bounds.mu.Lock()
	defer c.bounds.mu.Unlock()
	if c.pod == "" && c.busy {
		return false
	}
	c.busy = true
	return true
}

func (c *connection) end() {
	c.bounds.mu.Lock()
	defer c.bounds.mu.Unlock()
	c.busy = false
}

// Prove records that a request, and its connection, are of a pod, until done is called. The error is ErrTooMany if
// the pod has too many of them.
func Prove(ctx context.Context, pod string) (done func(), err error) {
	c, _ := ctx.Value(key{}).(*connection)
	b := c.bounds
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.pod != pod && !b.move(c, pod) {
		return nil, ErrTooMany
	}
	request := new(struct{ _ byte })
	if _, admitted := b.requests.Admit(pod, request); !admitted {
		return nil, ErrTooMany
	}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.requests.Leave(pod, request)
	}, nil
}

// move makes a connection that of a pod. One that serves several pods counts for the last.
func (b *bounds) move(c *connection, pod string) bool {
	if b.all[c.net] == nil {
		return false // closed meanwhile
	}
	if _, admitted := b.pods.Admit(pod, c); !admitted {
		return false
	}
	b.strangers.Leave(c.address, c)
	b.pods.Leave(c.pod, c)
	c.pod = pod
	return true
}
