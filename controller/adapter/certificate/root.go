package certificate

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"
)

// blockCertificate and blockKey are the PEM block types written and read.
const (
	blockCertificate = "CERTIFICATE"
	blockKey         = "PRIVATE KEY"
)

// ErrNoRoot says that a text holds no certificate authority with its key.
var ErrNoRoot = errors.New("no certificate authority")

// Root is a certificate authority with its key.
type Root struct {
	// Certificate is self-signed.
	Certificate *x509.Certificate
	// Key signs leaves.
	Key crypto.Signer
}

// NewRoot makes an authority with an ECDSA P-256 key that is valid from now,
// less the skew of p, for the lifetime in p.
func NewRoot(now time.Time, p Periods) (*Root, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("cannot generate the authority's key: %w", err)
	}
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: fmt.Sprintf("orcon-ca %x", serial.Bytes()[:4])},
		NotBefore:             now.Add(-p.Skew),
		NotAfter:              now.Add(p.Authority),
		IsCA:                  true,
		BasicConstraintsValid: true,
		MaxPathLenZero:        true,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("cannot sign the authority: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("cannot read the authority just signed: %w", err)
	}
	return &Root{Certificate: certificate, Key: key}, nil
}

// newSerial returns a random serial number of 16 bytes whose first bit is
// clear and whose second is set, so that its length is always the same.
func newSerial() (*big.Int, error) {
	raw := make([]byte, 16)
	if _, err := rand.Read(raw); err != nil {
		return nil, fmt.Errorf("cannot choose a serial number: %w", err)
	}
	raw[0] = raw[0]&0x7f | 0x40
	return new(big.Int).SetBytes(raw), nil
}

// ParseRoot reads an authority from the PEM of its certificate and key. The
// error is ErrNoRoot where there is none, or where the two do not belong
// together.
func ParseRoot(certificate, key []byte) (*Root, error) {
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrNoRoot, err) //nolint:errorlint // the sentinel is the contract
	}
	signer, ok := pair.PrivateKey.(crypto.Signer)
	if !ok || pair.Leaf == nil || !pair.Leaf.IsCA {
		return nil, fmt.Errorf("%w: the certificate may not sign", ErrNoRoot)
	}
	return &Root{Certificate: pair.Leaf, Key: signer}, nil
}

// PEM returns the authority's certificate and key as PEM.
func (r *Root) PEM() (certificate, key []byte, err error) {
	der, err := x509.MarshalPKCS8PrivateKey(r.Key)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot encode the authority's key: %w", err)
	}
	key = pem.EncodeToMemory(&pem.Block{Type: blockKey, Bytes: der})
	return Bundle(r.Certificate), key, nil
}

// Sign signs a leaf from the template, valid from now, less the skew of p,
// for the leaf's lifetime in p and never longer than the authority.
func (r *Root) Sign(template *x509.Certificate, now time.Time, p Periods) (*x509.Certificate, error) {
	if !now.Before(r.Certificate.NotAfter) {
		return nil, fmt.Errorf("cannot sign a leaf: %w: it expired at %s", ErrNoRoot, r.Certificate.NotAfter)
	}
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	leaf := *template
	leaf.SerialNumber = serial
	leaf.BasicConstraintsValid = true
	leaf.NotBefore = now.Add(-p.Skew)
	leaf.NotAfter = now.Add(p.Leaf)
	if r.Certificate.NotAfter.Before(leaf.NotAfter) {
		leaf.NotAfter = r.Certificate.NotAfter
	}
	der, err := x509.CreateCertificate(rand.Reader, &leaf, r.Certificate, template.PublicKey, r.Key)
	if err != nil {
		return nil, fmt.Errorf("cannot sign a leaf: %w", err)
	}
	return x509.ParseCertificate(der)
}

// Bundle returns the certificates as one PEM text, each once, in the order
// given.
func Bundle(certificates ...*x509.Certificate) []byte {
	var out bytes.Buffer
	for i, c := range certificates {
		if slices.ContainsFunc(certificates[:i], c.Equal) {
			continue
		}
		out.Write(pem.EncodeToMemory(&pem.Block{Type: blockCertificate, Bytes: c.Raw}))
	}
	return out.Bytes()
}

// ParseBundle returns the certificates in a PEM text and leaves out all that
// is not a certificate.
func ParseBundle(text []byte) []*x509.Certificate {
	var out []*x509.Certificate
	for {
		var block *pem.Block
		block, text = pem.Decode(text)
		if block == nil {
			return out
		}
		if block.Type != blockCertificate {
			continue
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil {
			out = append(out, c)
		}
	}
}
