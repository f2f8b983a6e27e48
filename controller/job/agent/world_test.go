package agent

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/certificate"
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/node/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/node/v1alpha1/nodev1alpha1connect"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/node"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
)

// longest is the longest pause of agents under test.
const longest = 10 * time.Millisecond

// controller is what an agent calls: it does what a test tells it, and signs certificates.
type controller struct {
	nodev1alpha1connect.UnimplementedNodeServiceHandler

	t       *testing.T
	root    *certificate.Root
	address string

	mutex sync.Mutex
	// life is that of certificates which are signed now.
	life time.Duration
	// refuse is the answer to joins and renewals; nil for a certificate.
	refuse error
	joined []*wire.JoinRequest
	// renewed counts renewals, and keys has the digest of the key of each call.
	renewed int
	answer  *wire.SyncResponse
	asked   chan *wire.SyncRequest
}

func newController(t *testing.T, change ...func(*http.Server)) *controller {
	root, err := certificate.NewRoot(time.Now(), certificate.DefaultPeriods())
	require.NoError(t, err)
	c := &controller{t: t, root: root, life: node.CertificateLife, answer: &wire.SyncResponse{}, asked: make(chan *wire.SyncRequest, 100)}
	mux := http.NewServeMux()
	mux.Handle(nodev1alpha1connect.NewNodeServiceHandler(c))
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	leaf, err := root.Sign(&x509.Certificate{
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"controller.orcon.test"}, PublicKey: key.Public(), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, time.Now(), certificate.Periods{Leaf: time.Hour, Skew: node.Backdate})
	require.NoError(t, err)
	served := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0), TLSConfig: &tls.Config{
		MinVersion: tls.VersionTLS13, ClientAuth: tls.RequestClientCert,
		Certificates: []tls.Certificate{{Certificate: [][]byte{leaf.Raw, root.Certificate.Raw}, PrivateKey: key}},
	}}
	for _, one := range change {
		one(served)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = served.ServeTLS(listener, "", "") }()
	t.Cleanup(func() { _ = served.Close() })
	c.address = "https://" + listener.Addr().String()
	return c
}

// invitation returns one that names the controller.
func (c *controller) invitation() node.Invitation {
	return node.Invitation{Address: c.address, Node: "lab", Secret: "word", Authorities: []string{node.Digest(c.root.Certificate.Raw)}}
}

// sign returns a certificate for a request.
func (c *controller) sign(request []byte) (*wire.Certificate, error) {
	if c.refuse != nil {
		return nil, c.refuse
	}
	r, err := x509.ParseCertificateRequest(request)
	if err != nil {
		return nil, err
	}
	leaf, err := c.root.Sign(&x509.Certificate{PublicKey: r.PublicKey}, time.Now(), certificate.Periods{Leaf: c.life, Skew: node.Backdate})
	if err != nil {
		return nil, err
	}
	return &wire.Certificate{Certificate: certificate.Bundle(leaf), Authorities: certificate.Bundle(c.root.Certificate)}, nil
}

// Join implements the node API.
func (c *controller) Join(_ context.Context, r *connect.Request[wire.JoinRequest]) (*connect.Response[wire.JoinResponse], error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.joined = append(c.joined, r.Msg)
	signed, err := c.sign(r.Msg.GetRequest())
	if connect.CodeOf(err) == connect.CodeUnavailable {
		c.refuse = nil // for once
	}
	return connect.NewResponse(&wire.JoinResponse{Certificate: signed}), err
}

// Renew implements the node API.
func (c *controller) Renew(_ context.Context, r *connect.Request[wire.RenewRequest]) (*connect.Response[wire.RenewResponse], error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.renewed++
	signed, err := c.sign(r.Msg.GetRequest())
	return connect.NewResponse(&wire.RenewResponse{Certificate: signed}), err
}

// Sync implements the node API: it waits while the agent has the answer.
func (c *controller) Sync(ctx context.Context, r *connect.Request[wire.SyncRequest]) (*connect.Response[wire.SyncResponse], error) {
	select {
	case c.asked <- r.Msg:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	c.mutex.Lock()
	refuse := c.refuse
	c.mutex.Unlock()
	if refuse != nil {
		return nil, refuse
	}
	for {
		c.mutex.Lock()
		answer := c.answer
		c.mutex.Unlock()
		if answer.GetRevision() != r.Msg.GetRevision() {
			return connect.NewResponse(answer), nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
}

// tell has further calls answered so.
func (c *controller) tell(m *wire.SyncResponse) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.answer = m
}

// next returns the next call with other reports than none, or the next one.
func (c *controller) next(met func(*wire.SyncRequest) bool) *wire.SyncRequest {
	c.t.Helper()
	for {
		select {
		case r := <-c.asked:
			if met(r) {
				return r
			}
		case <-c.t.Context().Done():
			c.t.Fatal("the agent does not call")
		}
	}
}

// joins returns a connection of an agent that has joined.
func (c *controller) joins() *Connection {
	i, err := New(filepath.Join(c.t.TempDir(), "identity.json"), c.invitation())
	require.NoError(c.t, err)
	connection := &Connection{Clock: time.Now}
	require.NoError(c.t, Join(c.t.Context(), connection, i, c.invitation(), longest))
	return connection
}

// machine is an executor in memory.
type machine struct {
	mutex   sync.Mutex
	started []executor.Attempt
	sights  map[executor.Name]executor.Sight
	failure error
}

func (m *machine) Start(_ context.Context, a executor.Attempt) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if _, there := m.sights[a.Name]; !there {
		m.started = append(m.started, a)
		m.sights[a.Name] = executor.Sight{Pod: run.Pod{Made: true}}
	}
	return m.failure
}

func (m *machine) Look(_ context.Context, n executor.Name) (executor.Sight, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.sights[n], m.failure
}

func (m *machine) Remove(_ context.Context, n executor.Name) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	delete(m.sights, n)
	return m.failure
}

// show has an attempt look so.
func (m *machine) show(n executor.Name, s executor.Sight) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.sights[n] = s
}

// errPassing is an error that passes.
var errPassing = errors.New("not now")
