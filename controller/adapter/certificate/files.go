package certificate

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/golang/glog"
)

// ErrNoCertificate says that there is no certificate to show.
var ErrNoCertificate = errors.New("no certificate")

// Files is a Source that serves a pair of files and follows their changes. A
// pair that does not fit together leaves the last good one in use.
type Files struct {
	certificate, key string
	pair             atomic.Pointer[tls.Certificate]
	trouble          string
}

var _ Source = (*Files)(nil)

// NewFiles reads a certificate and its key, both PEM. It fails if that pair
// is not good: a server must not begin with nothing to show.
func NewFiles(certificate, key string) (*Files, error) {
	f := &Files{certificate: certificate, key: key}
	pair, err := f.read()
	if err != nil {
		return nil, err
	}
	f.pair.Store(pair)
	return f, nil
}

// read returns the pair on disk.
func (f *Files) read() (*tls.Certificate, error) {
	certificate, err := os.ReadFile(f.certificate)
	if err != nil {
		return nil, fmt.Errorf("cannot read certificate: %w", err)
	}
	key, err := os.ReadFile(f.key)
	if err != nil {
		return nil, fmt.Errorf("cannot read certificate's key: %w", err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("cannot use certificate %s with key %s: %w", f.certificate, f.key, err)
	}
	return &pair, nil
}

// GetCertificate returns the last good pair.
func (f *Files) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	pair := f.pair.Load()
	if pair == nil {
		return nil, ErrNoCertificate
	}
	return pair, nil
}

// NeedLeaderElection is false: each replica reads its own files.
func (f *Files) NeedLeaderElection() bool { return false }

// Start follows the files until ctx ends.
func (f *Files) Start(ctx context.Context) error {
	return follow(ctx, []string{f.certificate, f.key}, f.reload)
}

// reload takes a good pair into use, and says once what is wrong with a bad
// one.
func (f *Files) reload() {
	pair, err := f.read()
	if err != nil {
		if f.trouble != err.Error() {
			glog.Errorf("the certificate in use is kept: %v", err)
		}
		f.trouble = err.Error()
		return
	}
	f.trouble = ""
	if old := f.pair.Load(); old != nil && samePair(old, pair) {
		return
	}
	f.pair.Store(pair)
	glog.Infof("certificate read from %s", f.certificate)
}

// samePair compares the leaves: a new key has a new certificate.
func samePair(a, b *tls.Certificate) bool {
	return a.Leaf != nil && a.Leaf.Equal(b.Leaf) && len(a.Certificate) == len(b.Certificate)
}
