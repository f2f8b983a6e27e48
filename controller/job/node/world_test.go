package node_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/node/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/node/v1alpha1/nodev1alpha1connect"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/node"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/conformance"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/job/node"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// world is a server of nodes, whose stores are in memory, on a port of its own. Its RunNode is lab.
type world struct {
	*node.Server

	t   *testing.T
	url string
	mux *http.ServeMux

	mutex   sync.Mutex
	ahead   time.Duration
	nodes   map[string]domain.Node
	version map[string]int
	offers  map[executor.Name]node.OfferedAttempt
	inputs  map[executor.Name]run.Input
	keys    [3][]byte
	// before is called before a node is stored, by another writer.
	before func()
	// failing is the store's word for what it cannot do; "" for nothing.
	failing string
}

// errStore is the error of a store that fails.
var errStore = errors.New("the store does not answer")

// fails returns an error for what the store cannot do. The mutex is held.
func (w *world) fails(what string) error {
	if w.failing == what {
		return errStore
	}
	return nil
}

func newWorld(t *testing.T) *world {
	w := &world{
		t: t, nodes: map[string]domain.Node{}, version: map[string]int{}, offers: map[executor.Name]node.OfferedAttempt{},
		inputs: map[executor.Name]run.Input{},
	}
	w.nodes["lab"] = domain.Node{Name: "lab", Capacity: 2, Namespaces: []string{"ns"}, Call: domain.Call{Contract: run.Contract, Proof: &domain.Proof{}}}
	certificate, key, err := node.NewKeys(time.Now())
	require.NoError(t, err)
	w.keys = [3][]byte{certificate, key, nil}
	w.Server = &node.Server{
		Nodes: w, Offers: offers{w}, Runs: w, Clock: w.now, Recipient: func() string { return "age1" }, Authority: &node.Authority{Keys: w, Host: "127.0.0.1", Clock: w.now},
	}
	mux := http.NewServeMux()
	w.mux = mux
	path, handler := w.Handler()
	mux.Handle(path, handler)
	mux.HandleFunc("GET /runs/{run}", func(rw http.ResponseWriter, r *http.Request) {
		c, err := node.Callers{Server: w.Server}.Identify(r)
		if err != nil {
			http.Error(rw, err.Error(), http.StatusForbidden)
			return
		}
		_, _ = rw.Write([]byte(c.Workspace + " " + c.Run.Name + " " + c.Claimant.ID + " " + c.Claimant.Where))
	})
	served := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0), TLSConfig: &tls.Config{
		MinVersion: tls.VersionTLS13, GetCertificate: w.Authority.GetCertificate, ClientAuth: tls.RequestClientCert,
	}}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = served.ServeTLS(listener, "", "") }()
	t.Cleanup(func() { _ = served.Close() })
	w.url = "https://" + listener.Addr().String()
	w.Address = w.url
	return w
}

// now returns the time of the server, which a test may move ahead.
func (w *world) now() time.Time {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return time.Now().Add(w.ahead)
}

func (w *world) pass(d time.Duration) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.ahead += d
}

// change changes a node, as a person does.
func (w *world) change(change func(*domain.Node)) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	n := w.nodes["lab"]
	change(&n)
	w.nodes["lab"] = n
	w.version["lab"]++
}

// Get implements node.Nodes.
func (w *world) Get(_ context.Context, name string) (domain.Node, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	n, there := w.nodes[name]
	if !there {
		return n, node.ErrNone
	}
	return n, nil
}

// Stored implements node.Nodes.
func (w *world) Stored(ctx context.Context, name string) (domain.Node, string, error) {
	n, err := w.Get(ctx, name)
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return n, strconv.Itoa(w.version[name]), err
}

// List implements node.Nodes.
func (w *world) List(context.Context) (all []domain.Node, err error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for _, n := range w.nodes {
		all = append(all, n)
	}
	return all, w.fails("list nodes")
}

// Identify implements node.Nodes.
func (w *world) Identify(_ context.Context, name, version string, i domain.Identity) error {
	if first := w.before; first != nil {
		w.before = nil
		first()
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if version != strconv.Itoa(w.version[name]) {
		return node.ErrMoved
	}
	n := w.nodes[name]
	n.Identity = i
	w.nodes[name] = n
	w.version[name]++
	return nil
}

// Show implements node.Nodes.
func (w *world) Show(_ context.Context, name string, s node.Shown) error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if err := w.fails("show a node"); err != nil {
		return err
	}
	n := w.nodes[name]
	if !s.Seen.IsZero() {
		n.Call = s.Call
	}
	w.nodes[name] = n
	return nil
}

// Input implements node.Runs.
func (w *world) Input(_ context.Context, n executor.Name) (run.Input, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if err := w.fails("read an input"); err != nil {
		return run.Input{}, err
	}
	input, there := w.inputs[n]
	if !there {
		return input, node.ErrNone
	}
	return input, nil
}

// Identity implements node.Runs.
func (w *world) Identity(ctx context.Context, n executor.Name) (string, workspace.Run, error) {
	_, err := w.Input(ctx, n)
	return "w", workspace.Run{UID: n.UID, Name: n.Run}, err
}

// Read implements node.Keys.
func (w *world) Read(context.Context) (certificate, key, trusted []byte, err error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.keys[0], w.keys[1], w.keys[2], nil
}

// offers implements node.Offers.
type offers struct{ *world }

func (o offers) Make(_ context.Context, of node.OfferedAttempt) error {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if _, there := o.offers[named(of.Name)]; !there {
		o.offers[named(of.Name)] = of
	}
	return nil
}

// named returns the name by which an offer is found.
func named(n executor.Name) executor.Name { return executor.Name{UID: n.UID, Number: n.Number} }

func (o offers) Get(_ context.Context, n executor.Name) (node.OfferedAttempt, bool, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	of, there := o.offers[named(n)]
	return of, there, o.fails("read an offer")
}

func (o offers) Stored(ctx context.Context, n executor.Name) (node.OfferedAttempt, bool, error) {
	return o.Get(ctx, n)
}

func (o offers) Of(_ context.Context, name string) (all []node.OfferedAttempt, err error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	for _, one := range o.offers {
		if one.Node == name {
			all = append(all, one)
		}
	}
	return all, o.fails("list the offers of a node")
}

func (o offers) List(context.Context) (all []node.OfferedAttempt, err error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	for _, one := range o.offers {
		all = append(all, one)
	}
	return all, o.fails("list offers")
}

func (o offers) Change(_ context.Context, of node.OfferedAttempt) error {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if err := o.fails("change an offer"); err != nil {
		return err
	}
	o.offers[named(of.Name)] = of
	return nil
}

func (o offers) Delete(_ context.Context, n executor.Name) error {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if err := o.fails("delete an offer"); err != nil {
		return err
	}
	delete(o.offers, named(n))
	return nil
}

// caller is an agent with a key.
type caller struct {
	world       *world
	key         *ecdsa.PrivateKey
	certificate []byte
	// proof is what it has found of the contract; nil for nothing.
	proof *wire.Proof
}

func (w *world) caller() *caller {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(w.t, err)
	return &caller{world: w, key: key, proof: proof(w.t, conformance.Golden())}
}

// proof returns what an agent has found, as it is sent.
func proof(t *testing.T, r conformance.Report) *wire.Proof {
	text, err := json.Marshal(r)
	require.NoError(t, err)
	return &wire.Proof{Subject: "runner and engine", Report: text}
}

// request returns a certificate request.
func (c *caller) request() []byte {
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, c.key)
	require.NoError(c.world.t, err)
	return der
}

// digest returns the digest of the key.
func (c *caller) digest() string {
	der, err := x509.MarshalPKIXPublicKey(c.key.Public())
	require.NoError(c.world.t, err)
	return domain.Digest(der)
}

// http returns a client with the certificate, on a connection of its own.
func (c *caller) http() *http.Client {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(c.world.keys[0])
	config := &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: roots, Time: c.world.now}
	if block, _ := pem.Decode(c.certificate); block != nil {
		config.Certificates = []tls.Certificate{{Certificate: [][]byte{block.Bytes}, PrivateKey: c.key}}
	}
	t := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	c.world.t.Cleanup(t.CloseIdleConnections)
	return &http.Client{Transport: t}
}

func (c *caller) client() nodev1alpha1connect.NodeServiceClient {
	return nodev1alpha1connect.NewNodeServiceClient(c.http(), c.world.url)
}

// join joins by an invitation.
func (c *caller) join(text string) error {
	i, err := domain.ParseInvitation(text)
	require.NoError(c.world.t, err)
	answer, err := c.client().Join(c.world.t.Context(), connect.NewRequest(&wire.JoinRequest{
		Node: i.Node, Token: i.Secret, Request: c.request(),
	}))
	if err == nil {
		c.certificate = answer.Msg.GetCertificate().GetCertificate()
	}
	return err
}

// sync calls with reports.
func (c *caller) sync(revision string, reports ...*wire.Report) (*wire.SyncResponse, error) {
	answer, err := c.client().Sync(c.world.t.Context(), connect.NewRequest(&wire.SyncRequest{
		Revision: revision, Contract: run.Contract, Reports: reports, Proof: c.proof,
	}))
	if err != nil {
		return nil, err
	}
	return answer.Msg, nil
}

// adopted returns an agent that has joined and is adopted.
func (w *world) adopted() *caller {
	c := w.caller()
	text, err := w.Mint(w.t.Context(), "lab")
	require.NoError(w.t, err)
	require.NoError(w.t, c.join(text))
	w.change(func(n *domain.Node) { n.Adopted = c.digest() })
	_, err = c.sync("")
	require.NoError(w.t, err)
	return c
}

// denied checks that a call was refused for a reason.
func (w *world) denied(err error, why string) {
	w.t.Helper()
	require.Equal(w.t, connect.CodePermissionDenied, connect.CodeOf(err), err)
	require.Contains(w.t, err.Error(), why)
}
