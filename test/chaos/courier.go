package chaos

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// The ways in which a Courier treats messages.
const (
	MessageLost     Kind = "message lost"
	AnswerLost      Kind = "answer lost"
	MessageRepeated Kind = "message repeated"
	MessageLate     Kind = "message late, and again after the end"
)

// Courier carries HTTP requests to one server, and treats those of chosen senders badly.
type Courier struct {
	server   http.Server
	listener net.Listener
	to       string

	mu sync.Mutex
	// treated has the senders: a part of the path of their requests.
	treated map[string]*treatment
}

// treatment is how one sender is treated.
type treatment struct {
	kind Kind
	// count is the number of its requests since then.
	count int
	kept  []message
}

// message is a request that can be sent again.
type message struct {
	method, path string
	header       http.Header
	body         []byte
}

// late is how much later the second of two messages is, so that those that follow are before it.
const late = 300 * time.Millisecond

// NewCourier listens at loopback and carries requests to a URL.
func NewCourier(to string) (*Courier, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("cannot listen: %w", err)
	}
	c := &Courier{listener: listener, to: to, treated: map[string]*treatment{}}
	c.server.Handler = c
	go func() { _ = c.server.Serve(listener) }()
	return c, nil
}

// Address returns the URL of the courier.
func (c *Courier) Address() string { return "http://" + c.listener.Addr().String() }

// Close ends the courier.
func (c *Courier) Close() { _ = c.server.Close() }

// Treat treats the requests whose path has a part, from now on.
func (c *Courier) Treat(part string, kind Kind) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.treated[part] = &treatment{kind: kind}
}

// Count returns how many requests were treated.
func (c *Courier) Count(part string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.treated[part]; t != nil {
		return t.count
	}
	return 0
}

// Repeat sends again what was late, the last message first, and returns how many messages got an answer.
func (c *Courier) Repeat(ctx context.Context, part string) (sent int) {
	c.mu.Lock()
	var kept []message
	if t := c.treated[part]; t != nil {
		kept = t.kept
	}
	c.mu.Unlock()
	for _, m := range slices.Backward(kept) {
		answer, err := c.carry(ctx, m)
		if err == nil {
			_ = answer.Body.Close()
			sent++
		}
	}
	return sent
}

// ServeHTTP carries one request.
func (c *Courier) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	m := message{r.Method, r.URL.EscapedPath(), r.Header.Clone(), body}
	kind, count := c.treatmentOf(m)
	second := count%2 == 0
	switch {
	case kind == MessageLost && !second:
		panic(http.ErrAbortHandler)
	case kind == MessageRepeated:
		if answer, err := c.carry(r.Context(), m); err == nil {
			_ = answer.Body.Close()
		}
	case kind == MessageLate && second:
		select {
		case <-r.Context().Done():
		case <-time.After(late):
		}
	}
	answer, err := c.carry(r.Context(), m)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer answer.Body.Close() //nolint:errcheck // it is only read
	if kind == AnswerLost && !second {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), answer.Header)
	w.WriteHeader(answer.StatusCode)
	if _, err := io.Copy(w, answer.Body); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// treatmentOf returns how a message is treated, and the how manieth of its sender it is.
func (c *Courier) treatmentOf(m message) (Kind, int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for part, t := range c.treated {
		if !strings.Contains(m.path, part) {
			continue
		}
		t.count++
		if t.kind == MessageLate {
			t.kept = append(t.kept, m)
		}
		return t.kind, t.count
	}
	return "", 0
}

// carry sends a message and returns the answer.
func (c *Courier) carry(ctx context.Context, m message) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, m.method, c.to+m.path, bytes.NewReader(m.body))
	if err != nil {
		return nil, err
	}
	r.Header = m.header
	return http.DefaultTransport.RoundTrip(r)
}
