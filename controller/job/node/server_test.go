package node_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/node/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/node"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/job/node"
)

// A token gives one key a certificate for a day, whose URI names the node. It is good for no other key, and is not stored.
func TestJoin(t *testing.T) {
	w := newWorld(t)
	text, err := w.Mint(t.Context(), "lab")
	require.NoError(t, err)
	i, err := domain.ParseInvitation(text)
	require.NoError(t, err)
	assert.Equal(t, w.url, i.Address)
	assert.NotContains(t, w.nodes["lab"].Token.Digest, i.Secret)

	c := w.caller()
	require.NoError(t, c.join(text))
	require.NoError(t, c.join(text), "the answer may have been lost")
	block, _ := pem.Decode(c.certificate)
	leaf, err := x509.ParseCertificate(block.Bytes)
	require.NoError(t, err)
	assert.Equal(t, "spiffe://orcon.tengu.io/runnode/lab", leaf.URIs[0].String())
	assert.Equal(t, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, leaf.ExtKeyUsage)
	assert.WithinDuration(t, time.Now().Add(domain.CertificateLife), leaf.NotAfter, time.Minute)
	assert.WithinDuration(t, time.Now().Add(-domain.Backdate), leaf.NotBefore, time.Minute)
	assert.Equal(t, c.digest(), w.nodes["lab"].Key)

	w.denied(w.caller().join(text), "another key has used it")
	_, err = w.Mint(t.Context(), "none")
	require.ErrorIs(t, err, node.ErrNone)
	other := domain.Invitation{Address: w.url, Node: "none", Secret: "x", Authorities: i.Authorities}
	w.denied(w.caller().join(other.String()), "the key is not that of the node") // as for one that is there
}

// A node that another writer changes meanwhile is decided about anew.
func TestMoved(t *testing.T) {
	w := newWorld(t)
	text, err := w.Mint(t.Context(), "lab")
	require.NoError(t, err)
	w.before = func() { w.change(func(n *domain.Node) { n.Capacity = 7 }) }
	require.NoError(t, w.caller().join(text))
	assert.Equal(t, 7, w.nodes["lab"].Capacity)
	w.before = func() { w.change(func(n *domain.Node) { n.Order = domain.Revoke }) }
	_, err = w.Mint(t.Context(), "lab")
	require.ErrorIs(t, err, domain.ErrRevoked)
}

// JOBS-DESIGN.md 16: whether a token can be minted is known before one is.
func TestMintable(t *testing.T) {
	w := newWorld(t)
	m, before := node.Minter{Server: w.Server}, w.nodes["lab"]
	require.NoError(t, m.Mintable(t.Context(), "lab"))
	assert.Equal(t, before, w.nodes["lab"], "none is minted")
	err := m.Mintable(t.Context(), "none")
	require.ErrorIs(t, err, node.ErrNone)
	require.ErrorContains(t, err, "create it")
	w.change(func(n *domain.Node) { n.Order = domain.Revoke })
	require.ErrorIs(t, m.Mintable(t.Context(), "lab"), domain.ErrRevoked)
	w.Address = ""
	require.ErrorContains(t, m.Mintable(t.Context(), "lab"), "set its flag -nodeAddress")
}

// Certificate requests must be signed by a key of a known kind.
func TestRequests(t *testing.T) {
	w := newWorld(t)
	text, err := w.Mint(t.Context(), "lab")
	require.NoError(t, err)
	i, err := domain.ParseInvitation(text)
	require.NoError(t, err)
	signed := func(key any) []byte {
		der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
		require.NoError(t, err)
		return der
	}
	large, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	_, small, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	forged := w.caller().request()
	forged[len(forged)-1] ^= 1
	for name, tc := range map[string]struct {
		request []byte
		says    string
	}{
		"none": {nil, "cannot be used"}, "forged": {forged, "cannot be used"}, "rsa": {signed(large), "must be P-256 or Ed25519"},
		"ed25519": {signed(small), ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := w.caller().client().Join(t.Context(), connect.NewRequest(&wire.JoinRequest{
				Node: i.Node, Token: i.Secret, Request: tc.request,
			}))
			if tc.says == "" {
				require.NoError(t, err)
				return
			}
			assert.Equal(t, connect.CodePermissionDenied, connect.CodeOf(err))
			assert.ErrorContains(t, err, tc.says)
		})
	}
}

// JOBS-DESIGN.md 16: a certificate that has ended renews by its key, for 30 days, and does nothing else; one of a node that
// is revoked does nothing.
func TestRenew(t *testing.T) {
	w := newWorld(t)
	c := w.adopted()
	renew := func(by *caller, request []byte) error {
		answer, err := by.client().Renew(t.Context(), connect.NewRequest(&wire.RenewRequest{Request: request}))
		if err == nil {
			by.certificate = answer.Msg.GetCertificate().GetCertificate()
		}
		return err
	}
	w.denied(renew(c, w.caller().request()), "not that of the connection")
	w.denied(renew(w.caller(), c.request()), "no certificate of a RunNode")
	w.pass(domain.CertificateLife + time.Hour)
	_, err := c.sync("")
	w.denied(err, "may only renew its certificate")
	require.NoError(t, renew(c, c.request()))
	_, err = c.sync("")
	require.NoError(t, err)
	w.change(func(n *domain.Node) { n.Order = domain.Revoke })
	w.denied(renew(c, c.request()), "the node is revoked")
	w.change(func(n *domain.Node) { n.Order = "" })
	w.pass(domain.CertificateLife + domain.RenewalGrace)
	w.denied(renew(c, c.request()), "join again with a token")
}

// Certificates to trust whose last line has no end are trusted, and so is the authority itself.
func TestTrustedWithoutLineEnd(t *testing.T) {
	w := newWorld(t)
	c := w.adopted()
	next, _, err := node.NewKeys(time.Now())
	require.NoError(t, err)
	w.mutex.Lock()
	w.keys[2] = bytes.TrimSpace(next)
	w.mutex.Unlock()
	w.pass(2 * time.Minute)
	_, digests, err := w.Authority.Bundle(t.Context())
	require.NoError(t, err)
	assert.Len(t, digests, 2)
	_, err = c.sync("")
	require.NoError(t, err)
}

// Both authorities of a rotation are trusted: certificates by the last one, which is trusted still, go on being good, and an
// invitation names both.
func TestRotation(t *testing.T) {
	w := newWorld(t)
	c := w.adopted()
	certificate, key, err := node.NewKeys(time.Now())
	require.NoError(t, err)
	w.mutex.Lock()
	last := w.keys[0]
	w.keys = [3][]byte{certificate, key, last}
	w.mutex.Unlock()
	w.pass(2 * time.Minute)
	bundle, digests, err := w.Authority.Bundle(t.Context())
	require.NoError(t, err)
	assert.Len(t, digests, 2)
	assert.Contains(t, string(bundle), string(last))
	answer, err := c.sync("")
	require.NoError(t, err)
	assert.Equal(t, bundle, answer.GetAuthorities())

	w.mutex.Lock()
	w.keys[2] = nil
	w.mutex.Unlock()
	w.pass(2 * time.Minute)
	_, err = c.sync("")
	w.denied(err, "the controller's clock shows")
}
