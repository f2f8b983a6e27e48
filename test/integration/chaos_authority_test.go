package integration

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// chaosAuthority signs the certificates of Orcon's servers, in files that they follow.
type chaosAuthority struct {
	folder string
	key    *ecdsa.PrivateKey
	root   *x509.Certificate
	serial int64
}

func newChaosAuthority(folder string) (*chaosAuthority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	a := &chaosAuthority{folder: folder, key: key}
	a.root = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "chaos"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, a.root, a.root, key.Public(), key)
	if err != nil {
		return nil, err
	}
	return a, errors.Join(a.write("ca.crt", "CERTIFICATE", der), a.renew())
}

func (a *chaosAuthority) path(name string) string { return filepath.Join(a.folder, name) }

// bundle returns the PEM of the authority.
func (a *chaosAuthority) bundle() []byte {
	text, _ := os.ReadFile(a.path("ca.crt"))
	return text
}

// renew replaces the servers' certificate and its key.
func (a *chaosAuthority) renew() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	a.serial++
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(a.serial), Subject: pkix.Name{CommonName: "orcon"},
		NotBefore: a.root.NotBefore, NotAfter: a.root.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{chaosServer}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, a.root, key.Public(), a.key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return errors.Join(a.write("tls.key", "PRIVATE KEY", private), a.write("tls.crt", "CERTIFICATE", der))
}

// write replaces a file in one step.
func (a *chaosAuthority) write(name, kind string, der []byte) error {
	text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	if err := os.WriteFile(a.path(name+".new"), text, 0o600); err != nil {
		return err
	}
	return os.Rename(a.path(name+".new"), a.path(name))
}

// shown reports whether a server shows the newest certificate.
func (a *chaosAuthority) shown(address string) bool {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(a.bundle())
	c, err := tls.Dial("tcp", address, &tls.Config{RootCAs: roots, ServerName: chaosServer, MinVersion: tls.VersionTLS12})
	if err != nil {
		return false
	}
	defer func() { _ = c.Close() }()
	return c.ConnectionState().PeerCertificates[0].SerialNumber.Int64() == a.serial
}
