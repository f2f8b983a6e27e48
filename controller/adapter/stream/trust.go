package stream

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/golang/glog"
)

// errRevoked ends a conversation with a controller whose authority is trusted no more.
var errRevoked = errors.New("its certificate is signed by no authority that is trusted now")

// bundle returns the authorities that may sign the controller's certificate, as PEM. Until a controller has been verified
// by today's file alone, they are those of the pod's admission too: in a rotation either may be the older one. From then
// on they are those of today's file, or the last ones if it has gone, so that an authority that was taken away is not
// trusted for having been there when the pod was admitted (TRUST.md R6).
func (c *Client) bundle() ([]byte, error) {
	file, err := readFile(c.TrustFile)
	if err != nil {
		return nil, fmt.Errorf("cannot read the trust bundle: %w", err)
	}
	kept, err := readFile(c.TrustKept)
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot read the kept trust bundle: %w", err)
	case len(kept) == 0:
		return append([]byte(c.Trust+"\n"), file...), nil
	case x509.NewCertPool().AppendCertsFromPEM(file):
		return file, nil
	}
	return kept, nil
}

// roots returns the authorities of the bundle.
func (c *Client) roots() (*x509.CertPool, error) {
	bundle, err := c.bundle()
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(bundle) {
		return nil, fmt.Errorf("cannot trust any controller: neither ORCON_TRUST nor %s holds a certificate", c.TrustFile)
	}
	return roots, nil
}

// peer is a controller that was verified, and when.
type peer struct {
	tls.ConnectionState

	at time.Time
}

// verifiedBy reports whether authorities signed the controller's certificate, which was valid then.
func (p *peer) verifiedBy(roots *x509.CertPool, name string) bool {
	intermediates := x509.NewCertPool()
	for _, c := range p.PeerCertificates[1:] {
		intermediates.AddCert(c)
	}
	_, err := p.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: intermediates, DNSName: name, CurrentTime: p.at})
	return err == nil
}

// keep keeps today's file once it alone verifies a controller.
func (c *Client) keep(p *peer) {
	file, err := readFile(c.TrustFile)
	roots := x509.NewCertPool()
	if err != nil || !roots.AppendCertsFromPEM(file) || !p.verifiedBy(roots, c.ServerName) {
		return
	}
	c.keeping.Lock()
	defer c.keeping.Unlock()
	if kept, err := readFile(c.TrustKept); err == nil && string(kept) == string(file) {
		return
	}
	if err := replace(c.TrustKept, file); err != nil {
		glog.Warningf("cannot keep the trust bundle, so that an earlier one counts: %v", err)
	}
}

// replace makes content the content of a file, all at once. On an error what was there stays.
func replace(name string, content []byte) error {
	staged := name + ".new"
	err := os.WriteFile(staged, content, 0o600)
	if err == nil {
		err = os.Rename(staged, name)
	}
	if err != nil {
		_ = os.Remove(staged)
	}
	return err
}

// trusts reports whether today's authorities verify a controller.
func (c *Client) trusts(p *peer) bool {
	roots, err := c.roots()
	if err != nil {
		glog.Warningf("%v", err)
		return true // nothing shows that it was revoked
	}
	return p.verifiedBy(roots, c.ServerName)
}

// readFile returns the content of a file; nothing if it does not exist.
func readFile(name string) ([]byte, error) {
	content, err := os.ReadFile(name) //nolint:gosec // a file of the agent's own volumes
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return content, err
}
