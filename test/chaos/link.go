package chaos

import (
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Link is a TCP listener that forwards each connection to the first backend that accepts it, and can be cut.
type Link struct {
	listener net.Listener
	backends func() []string

	mu     sync.Mutex
	cut    bool
	delay  time.Duration
	closed bool
	turn   int
	pairs  map[*pair]struct{}
}

// pair is a forwarded connection.
type pair struct{ client, backend net.Conn }

func (p *pair) close() {
	_ = p.client.Close()
	_ = p.backend.Close()
}

// NewLink listens at loopback and forwards to the addresses that backends returns, in turn.
func NewLink(backends func() []string) (*Link, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("cannot listen: %w", err)
	}
	l := &Link{listener: listener, backends: backends, pairs: map[*pair]struct{}{}}
	go l.accept()
	return l, nil
}

// Address returns the host and port of the link.
func (l *Link) Address() string { return l.listener.Addr().String() }

// Cut breaks all connections and refuses new ones until Mend; it returns how many it broke.
func (l *Link) Cut() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = true
	broken := len(l.pairs)
	for p := range l.pairs {
		p.close()
	}
	clear(l.pairs)
	return broken
}

// Mend ends a cut, unless the link is closed.
func (l *Link) Mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = l.closed
}

// Slow delays all that is forwarded from now on; 0 ends that.
func (l *Link) Slow(delay time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay = delay
}

// lazy is a reader whose bytes come later while the link is slow.
type lazy struct {
	io.Reader

	link *Link
}

// Read implements io.Reader.
func (r lazy) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.link.mu.Lock()
	delay := r.link.delay
	r.link.mu.Unlock()
	if delay > 0 {
		<-time.After(delay)
	}
	return n, err
}

// OpenTo returns how many connections are forwarded to a backend.
func (l *Link) OpenTo(backend string) (open int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for p := range l.pairs {
		if p.backend.RemoteAddr().String() == backend {
			open++
		}
	}
	return open
}

// Close ends the link for good.
func (l *Link) Close() {
	_ = l.listener.Close()
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.Cut()
}

func (l *Link) accept() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return
		}
		go l.forward(client)
	}
}

// forward copies both ways until an end closes, then closes the other.
func (l *Link) forward(client net.Conn) {
	p := &pair{client: client, backend: l.dial()}
	if p.backend == nil || !l.add(p) {
		_ = client.Close()
		return
	}
	done := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{p.client, p.backend}, {p.backend, p.client}} {
		go func() {
			_, _ = io.Copy(way[0], lazy{way[1], l})
			done <- struct{}{}
		}()
	}
	<-done
	p.close()
	<-done
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pairs, p)
}

// dial connects to the next backend that accepts; nil if none does.
func (l *Link) dial() net.Conn {
	all := l.backends()
	l.mu.Lock()
	l.turn++
	turn := l.turn
	l.mu.Unlock()
	for i := range all {
		if c, err := net.Dial("tcp", all[(turn+i)%len(all)]); err == nil {
			return c
		}
	}
	return nil
}

// add registers a connection, unless the link is cut.
func (l *Link) add(p *pair) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		_ = p.backend.Close()
		return false
	}
	l.pairs[p] = struct{}{}
	return true
}
