package node

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/certificate"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/node"
)

// Authority signs the certificates of nodes, and that by which the controller serves them.
type Authority struct {
	Keys AuthorityKeys
	// Host is the name or address by which nodes reach the controller.
	Host  string
	Clock func() time.Time

	mutex  sync.Mutex
	read   time.Time
	keys   authorityKeys
	served *tls.Certificate
}

// authorityKeys are the keys as they were read.
type authorityKeys struct {
	root    *certificate.Root
	trusted []*x509.Certificate
}

// periods are those of certificates. An authority is replaced by a person.
func periods() certificate.Periods {
	return certificate.Periods{Authority: 10 * 365 * 24 * time.Hour, Leaf: node.CertificateLife, Skew: node.Backdate}
}

// NewKeys returns the certificate and the key of a new authority, in PEM.
func NewKeys(now time.Time) (cert, key []byte, err error) {
	root, err := certificate.NewRoot(now, periods())
	if err != nil {
		return nil, nil, err
	}
	return root.PEM()
}

// identityOf is the URI of a node, and what it begins with.
const identityOf = "spiffe://orcon.tengu.io/runnode/"

// fresh is how long keys are used before they are read again.
const fresh = time.Minute

// load returns the keys, which it reads again after a while. Those that were read stay where they cannot be read again.
func (a *Authority) load(ctx context.Context) (authorityKeys, error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if now := a.Clock(); now.Sub(a.read) < fresh {
		return a.keys, nil
	}
	cert, key, trusted, err := a.Keys.Read(ctx)
	var root *certificate.Root
	if err == nil {
		root, err = certificate.ParseRoot(cert, key)
	}
	switch {
	case err != nil && a.keys.root == nil:
		return a.keys, fmt.Errorf("cannot use the authority of RunNodes: %w", err)
	case err != nil:
		return a.keys, nil // the last one is still good
	}
	if a.keys.root == nil || !a.keys.root.Certificate.Equal(root.Certificate) {
		a.served = nil
	}
	all := slices.Concat(trusted, []byte("\n"), cert) // a person writes trusted, perhaps without its last line end
	a.keys, a.read = authorityKeys{root, certificate.ParseBundle(all)}, a.Clock()
	return a.keys, nil
}

// Bundle returns the certificates to trust, in PEM, and their digests.
func (a *Authority) Bundle(ctx context.Context) (bundle []byte, digests []string, err error) {
	keys, err := a.load(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range keys.trusted {
		digests = append(digests, node.Digest(c.Raw))
	}
	return certificate.Bundle(keys.trusted...), digests, nil
}

// errRequest is wrapped where a certificate request cannot be signed.
var errRequest = errors.New("the certificate request cannot be used")

// parse reads a certificate request and returns its key, and the key's digest.
func parse(request []byte) (any, string, error) {
	r, err := x509.ParseCertificateRequest(request)
	if err == nil {
		err = r.CheckSignature()
	}
	if err != nil {
		return nil, "", fmt.Errorf("%w: %w", errRequest, err)
	}
	switch key := r.PublicKey.(type) {
	case ed25519.PublicKey:
	case *ecdsa.PublicKey:
		if key.Curve == elliptic.P256() {
			break
		}
		return nil, "", fmt.Errorf("%w: its key must be P-256 or Ed25519", errRequest)
	default:
		return nil, "", fmt.Errorf("%w: its key must be P-256 or Ed25519", errRequest)
	}
	return r.PublicKey, node.Digest(r.RawSubjectPublicKeyInfo), nil
}

// Sign returns a certificate of a node for a key, in PEM.
func (a *Authority) Sign(ctx context.Context, name string, key any) ([]byte, error) {
	keys, err := a.load(ctx)
	if err != nil {
		return nil, err
	}
	uri, err := url.Parse(identityOf + name)
	if err != nil {
		return nil, fmt.Errorf("cannot name RunNode %q: %w", name, err)
	}
	leaf, err := keys.root.Sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: name}, URIs: []*url.URL{uri}, PublicKey: key,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, a.Clock(), periods())
	if err != nil {
		return nil, err
	}
	return certificate.Bundle(leaf), nil
}

// errPeer is wrapped where a connection has no certificate of a node.
var errPeer = errors.New("the connection has no certificate of a RunNode")

// peer is the node of a connection.
type peer struct {
	name, key string
	expires   time.Time
}

// verify returns the node of a connection. Its certificate may have expired.
func (a *Authority) verify(ctx context.Context, state *tls.ConnectionState) (peer, error) {
	if state == nil || len(state.PeerCertificates) == 0 {
		return peer{}, errPeer
	}
	keys, err := a.load(ctx)
	if err != nil {
		return peer{}, err
	}
	roots, leaf := x509.NewCertPool(), state.PeerCertificates[0]
	for _, c := range keys.trusted {
		roots.AddCert(c)
	}
	at := a.Clock()
	if leaf.NotAfter.Before(at) {
		at = leaf.NotAfter
	}
	_, err = leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	if err != nil {
		return peer{}, fmt.Errorf("%w: %w; the controller's clock shows %s", errPeer, err, a.Clock().UTC().Format(time.RFC3339))
	}
	if len(leaf.URIs) != 1 || !strings.HasPrefix(leaf.URIs[0].String(), identityOf) {
		return peer{}, errPeer
	}
	return peer{
		name: strings.TrimPrefix(leaf.URIs[0].String(), identityOf), key: node.Digest(leaf.RawSubjectPublicKeyInfo), expires: leaf.NotAfter,
	}, nil
}

// GetCertificate returns the certificate of the controller, with the authority that signed it: an agent that joins knows
// the authority's digest.
func (a *Authority) GetCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	keys, err := a.load(hello.Context())
	if err != nil {
		return nil, err
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	now := a.Clock()
	if s := a.served; s != nil && now.Before(s.Leaf.NotAfter.Add(-node.CertificateLife/2)) {
		return s, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("cannot generate a key: %w", err)
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: a.Host}, PublicKey: key.Public(),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(a.Host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{a.Host}
	}
	leaf, err := keys.root.Sign(template, now, periods())
	if err != nil {
		return nil, err
	}
	a.served = &tls.Certificate{Certificate: [][]byte{leaf.Raw, keys.root.Certificate.Raw}, PrivateKey: key, Leaf: leaf}
	return a.served, nil
}
