// Package pki makes a cluster's certificates and kubeconfigs. Keys are ECDSA
// P-256, since RSA keys would cost most of a second each.
//
// What a certificate is used for is decided by its caller.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"
)

const (
	// validity is how long certificates hold; a test cluster ends before.
	validity = 365 * 24 * time.Hour
	// backdate lets a container with a clock slightly behind trust them.
	backdate = time.Hour
)

// Authority signs certificates.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

// Leaf is a certificate with its key, both as PEM.
type Leaf struct {
	Certificate []byte
	Key         []byte
}

// Subject says whom a certificate is for. With Addresses it may serve.
type Subject struct {
	User      string
	Group     string
	Names     []string
	Addresses []net.IP
}

// NewAuthority makes a self-signed authority.
func NewAuthority(name string) (*Authority, error) {
	template := newTemplate(Subject{User: name})
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("cannot make key of authority %q: %w", name, err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("cannot sign authority %q: %w", name, err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("cannot read authority %q: %w", name, err)
	}
	return &Authority{certificate: certificate, key: key, pem: encode("CERTIFICATE", der)}, nil
}

// PEM is the authority's own certificate.
func (a *Authority) PEM() []byte { return a.pem }

// Issue signs a certificate for s.
func (a *Authority) Issue(s Subject) (Leaf, error) {
	key, keyPEM, err := NewKey()
	if err != nil {
		return Leaf{}, err
	}
	template := newTemplate(s)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return Leaf{}, fmt.Errorf("cannot sign certificate of %q: %w", s.User, err)
	}
	return Leaf{Certificate: encode("CERTIFICATE", der), Key: keyPEM}, nil
}

// Write stores the authority as PREFIX.crt and PREFIX.key.
func (a *Authority) Write(prefix string) error {
	keyPEM, err := encodeKey(a.key)
	if err != nil {
		return err
	}
	return Leaf{Certificate: a.pem, Key: keyPEM}.Write(prefix)
}

// Write stores the certificate as PREFIX.crt and its key as PREFIX.key.
func (l Leaf) Write(prefix string) error {
	for suffix, data := range map[string][]byte{".crt": l.Certificate, ".key": l.Key} {
		if err := os.WriteFile(prefix+suffix, data, 0o600); err != nil {
			return fmt.Errorf("cannot write certificate: %w", err)
		}
	}
	return nil
}

// NewKey makes a private key and its PEM form.
func NewKey() (*ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot make key: %w", err)
	}
	keyPEM, err := encodeKey(key)
	return key, keyPEM, err
}

// EncodePublic returns the public half of a key as PEM.
func EncodePublic(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, fmt.Errorf("cannot encode public key: %w", err)
	}
	return encode("PUBLIC KEY", der), nil
}

func newTemplate(s Subject) *x509.Certificate {
	subject := pkix.Name{CommonName: s.User}
	if s.Group != "" {
		subject.Organization = []string{s.Group}
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: newSerial(),
		Subject:      subject,
		NotBefore:    now.Add(-backdate),
		NotAfter:     now.Add(validity),
		DNSNames:     s.Names,
		IPAddresses:  s.Addresses,
	}
}

// newSerial returns 64 random bits; crypto/rand never fails.
func newSerial() *big.Int {
	data := make([]byte, 8)
	_, _ = rand.Read(data)
	return new(big.Int).SetBytes(data)
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("cannot encode key: %w", err)
	}
	return encode("EC PRIVATE KEY", der), nil
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
