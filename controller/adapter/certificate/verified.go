package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// ErrNotVerified says that the leaf in use is not trusted by the bundle that
// is published.
var ErrNotVerified = errors.New("certificate not verified")

// Verified returns a check that the leaf of a source verifies for a DNS name
// against each live bundle (INJECTION.md I10). It fits healthz.Checker. A nil
// clock is the real one.
func Verified(source Source, live *Live, dnsName string, now func() time.Time) func(*http.Request) error {
	now = orRealTime(now)
	return func(*http.Request) error {
		pair, err := source.GetCertificate(&tls.ClientHelloInfo{ServerName: dnsName})
		if err != nil {
			return fmt.Errorf("%w: %w", ErrNotVerified, err)
		}
		bundles, err := live.Bundles()
		if err != nil {
			return fmt.Errorf("%w: %w", ErrNotVerified, err)
		}
		for _, bundle := range bundles {
			if err := verify(pair, bundle, dnsName, now()); err != nil {
				return fmt.Errorf("%w against %s: %w", ErrNotVerified, live.where, err)
			}
		}
		return nil
	}
}

// verify does what a client does that trusts the bundle and nothing else.
func verify(pair *tls.Certificate, bundle []byte, dnsName string, now time.Time) error {
	leaf, others, err := chain(pair)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	for _, c := range ParseBundle(bundle) {
		roots.AddCert(c)
	}
	_, err = leaf.Verify(x509.VerifyOptions{
		DNSName:       dnsName,
		Roots:         roots,
		Intermediates: others,
		CurrentTime:   now,
		KeyUsages:     []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	return err
}

// chain returns the leaf that a server shows, and what it shows beside it.
func chain(pair *tls.Certificate) (*x509.Certificate, *x509.CertPool, error) {
	if pair == nil || len(pair.Certificate) == 0 {
		return nil, nil, ErrNoCertificate
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read the leaf: %w", err)
	}
	others := x509.NewCertPool()
	for _, der := range pair.Certificate[1:] {
		if c, err := x509.ParseCertificate(der); err == nil {
			others.AddCert(c)
		}
	}
	return leaf, others, nil
}
