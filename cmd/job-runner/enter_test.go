package main

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/golang/glog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/node/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/node/v1alpha1/nodev1alpha1connect"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/agent"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/node"
)

// gate lets agents join by one token, and refuses others.
type gate struct {
	nodev1alpha1connect.UnimplementedNodeServiceHandler

	*httptest.Server
	refused atomic.Int32
}

func newGate(t *testing.T) *gate {
	g := &gate{}
	mux := http.NewServeMux()
	mux.Handle(nodev1alpha1connect.NewNodeServiceHandler(g))
	g.Server = httptest.NewUnstartedServer(mux)
	g.Config.ErrorLog = log.New(io.Discard, "", 0)
	g.StartTLS()
	t.Cleanup(g.Close)
	return g
}

// Join implements the node API.
func (g *gate) Join(_ context.Context, r *connect.Request[wire.JoinRequest]) (*connect.Response[wire.JoinResponse], error) {
	if r.Msg.GetToken() != "good" {
		g.refused.Add(1)
		return nil, connect.NewError(connect.CodePermissionDenied, errors.New("the token is not good"))
	}
	request, err := x509.ParseCertificateRequest(r.Msg.GetRequest())
	if err != nil {
		return nil, err
	}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	signed, err := x509.CreateCertificate(rand.Reader, leaf, g.Certificate(), request.PublicKey, g.TLS.Certificates[0].PrivateKey)
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed})
	return connect.NewResponse(&wire.JoinResponse{Certificate: &wire.Certificate{Certificate: text}}), err
}

// invitation returns one for a node.
func (g *gate) invitation(name, secret string) node.Invitation {
	return node.Invitation{Address: g.URL, Node: name, Secret: secret, Authorities: []string{node.Digest(g.Certificate().Raw)}}
}

// joiner returns a machine that reads its token from a file, and what writes that.
func joiner(t *testing.T) (m *machine, put func(text string)) {
	folder := t.TempDir()
	m = &machine{
		folder: folder, join: filepath.Join(folder, "token"), longest: time.Millisecond, connection: &agent.Connection{Clock: time.Now},
	}
	return m, func(text string) { require.NoError(t, os.WriteFile(m.join, []byte(text), 0o600)) }
}

// An agent that is refused waits for another token, and logs that once. The file is not needed once it has joined.
func TestRefusedToken(t *testing.T) {
	g := newGate(t)
	m, put := joiner(t)
	put(g.invitation("lab", "used").String())
	before := glog.Stats.Warning.Lines()
	entered := make(chan error, 1)
	go func() { entered <- m.enter(t.Context()) }()
	require.Eventually(t, func() bool { return g.refused.Load() > 5 || len(entered) > 0 }, 10*time.Second, time.Millisecond)
	assert.Equal(t, int64(1), glog.Stats.Warning.Lines()-before)
	put("")
	put(g.invitation("lab", "good").String())
	require.NoError(t, <-entered)
	assert.Equal(t, "lab", m.connection.Identity().Node)
	put("orcon-node.x")
	require.NoError(t, m.enter(t.Context()), "it has joined")
}

// JOBS.md J13: an identity without a certificate joins by the token that there is now. Its key stays as long as it is for
// the same node, since a person may have adopted it.
func TestJoinsByAnotherToken(t *testing.T) {
	g := newGate(t)
	away := node.Invitation{Address: "https://127.0.0.1:1", Node: "lab", Secret: "word", Authorities: []string{"sha256:a"}}
	for name, tc := range map[string]struct {
		why  string
		by   node.Invitation
		same bool
	}{
		"token":   {"another token", g.invitation("lab", "good"), true},
		"another": {"another node", g.invitation("lab-2", "good"), false},
	} {
		t.Run(name, func(t *testing.T) {
			m, put := joiner(t)
			file := filepath.Join(m.folder, "identity.json")
			first, err := agent.New(file, away)
			require.NoError(t, err)
			ctx, end := context.WithTimeout(t.Context(), 10*time.Second)
			defer end()
			require.ErrorContains(t, m.enter(ctx), "this machine has not joined")
			put(tc.by.String())
			require.NoError(t, m.enter(ctx))
			stored, err := agent.Load(file)
			require.NoError(t, err)
			assert.Equal(t, tc.by.Node+" "+g.URL, stored.Node+" "+stored.Address)
			assert.Equal(t, tc.same, stored.Key == first.Key, tc.why)
		})
	}
}
