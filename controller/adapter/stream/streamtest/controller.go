// Package streamtest is a relations controller for tests: the real wire over
// real TLS, with answers that the test gives.
//
// What must not come in: rules of the real controller.
package streamtest

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1/relationsv1alpha1connect"
)

// Controller listens on a loopback port that stays its own when it is stopped
// and started.
type Controller struct {
	relationsv1alpha1connect.UnimplementedRelationsServiceHandler

	tb      testing.TB
	address string

	mu       sync.Mutex
	server   *http.Server
	present  *wire.Snapshot
	refusal  error
	silent   bool
	changed  chan struct{}
	hellos   []*wire.Hello
	renewals []string
}

// Start returns a controller that answers with a leaf of authority and has
// nothing to say yet.
func Start(tb testing.TB, authority Authority) *Controller {
	tb.Helper()
	c := &Controller{tb: tb, address: "127.0.0.1:0", changed: make(chan struct{})}
	c.Start(authority)
	tb.Cleanup(c.Stop)
	return c
}

// Address returns what to dial.
func (c *Controller) Address() string { return "https://" + c.address }

// Start lets it listen (again).
func (c *Controller) Start(authority Authority) {
	c.tb.Helper()
	var listener net.Listener
	require.Eventually(c.tb, func() (ok bool) {
		var err error
		listener, err = (&net.ListenConfig{}).Listen(c.tb.Context(), "tcp", c.address)
		return err == nil
	}, 5*time.Second, 10*time.Millisecond)
	c.address = listener.Addr().String()
	mux := http.NewServeMux()
	mux.Handle(relationsv1alpha1connect.NewRelationsServiceHandler(c))
	server := &http.Server{
		Handler: mux, ReadHeaderTimeout: time.Second,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{authority.Leaf(c.tb)}, MinVersion: tls.VersionTLS13},
		ErrorLog:  discard(),
	}
	c.mu.Lock()
	c.server = server
	c.mu.Unlock()
	go func() { _ = server.ServeTLS(listener, "", "") }()
}

// Stop cuts every stream and frees the port.
func (c *Controller) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.server.Close()
}

// Say sends s to every stream, now and at every Hello to come.
func (c *Controller) Say(s *wire.Snapshot) {
	c.set(func() { c.present, c.refusal = s, nil })
}

// Refuse ends every stream with err, now and at every Hello to come; io.EOF ends
// them without an error.
func (c *Controller) Refuse(err error) { c.set(func() { c.refusal = err }) }

// Hush lets the controller accept streams and say nothing on them.
func (c *Controller) Hush() { c.set(func() { c.silent = true }) }

func (c *Controller) set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
	close(c.changed)
	c.changed = make(chan struct{})
}

// Hellos returns what agents said first, oldest first.
func (c *Controller) Hellos() []*wire.Hello {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*wire.Hello(nil), c.hellos...)
}

// Renewals returns the tokens of every Renew, oldest first.
func (c *Controller) Renewals() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.renewals...)
}

// Converse serves one stream.
func (c *Controller) Converse(ctx context.Context, stream *connect.BidiStream[wire.ConverseRequest, wire.ConverseResponse]) error {
	first, err := stream.Receive()
	if err != nil {
		return err
	}
	if first.GetHello() == nil {
		return connect.NewError(connect.CodeInvalidArgument, errors.New("no hello"))
	}
	c.mu.Lock()
	c.hellos = append(c.hellos, first.GetHello())
	c.mu.Unlock()
	go c.hearRenewals(stream)
	for {
		c.mu.Lock()
		snapshot, refusal, silent, changed := c.present, c.refusal, c.silent, c.changed
		c.mu.Unlock()
		if errors.Is(refusal, io.EOF) {
			return nil
		}
		if refusal != nil {
			return refusal
		}
		if snapshot != nil && !silent {
			if err := stream.Send(&wire.ConverseResponse{Snapshot: snapshot}); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

func (c *Controller) hearRenewals(stream *connect.BidiStream[wire.ConverseRequest, wire.ConverseResponse]) {
	for {
		message, err := stream.Receive()
		if err != nil {
			return
		}
		if renew := message.GetRenew(); renew != nil {
			c.mu.Lock()
			c.renewals = append(c.renewals, renew.GetToken())
			c.mu.Unlock()
		}
	}
}
