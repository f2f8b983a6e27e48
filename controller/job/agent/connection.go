package agent

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/node"
)

// Connection carries the requests of an agent and its keepers, by its identity of the moment.
type Connection struct {
	Clock func() time.Time
	// Proxy returns the proxy of a request; nil for none.
	Proxy func(*http.Request) (*url.URL, error)

	mutex    sync.Mutex
	identity *Identity
	// transport carries requests, uploads those with a content that is stored before their answer.
	transport, uploads *http.Transport
}

// stored is how long the store may take for an upload that was received: as long as for that of a pod.
const stored = 5 * time.Minute

var _ http.RoundTripper = (*Connection)(nil)

// Use has further requests made by an identity. authorities are the digests of the authorities to trust; none for those of
// the identity.
func (c *Connection) Use(i *Identity, authorities ...string) error {
	config, err := c.config(i, authorities)
	if err != nil {
		return err
	}
	next := &http.Transport{
		Proxy: c.Proxy, OnProxyConnectResponse: tunnelled, TLSClientConfig: config, ForceAttemptHTTP2: true, IdleConnTimeout: time.Minute,
		TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: time.Minute,
		DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		HTTP2:       &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second},
	}
	uploads := next.Clone()
	uploads.ResponseHeaderTimeout = stored
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.transport != nil {
		c.transport.CloseIdleConnections()
		c.uploads.CloseIdleConnections()
	}
	c.identity, c.transport, c.uploads = i, next, uploads
	return nil
}

// Identity returns the identity of the moment.
func (c *Connection) Identity() *Identity {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.identity
}

// RoundTrip implements http.RoundTripper.
func (c *Connection) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mutex.Lock()
	t := c.transport
	if r.Method == http.MethodPut {
		t = c.uploads
	}
	c.mutex.Unlock()
	return t.RoundTrip(r)
}

// tunnelled returns an error that names the proxy which refuses a tunnel to the controller.
func tunnelled(_ context.Context, proxy *url.URL, request *http.Request, answer *http.Response) error {
	switch answer.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusProxyAuthRequired:
		return fmt.Errorf("proxy %s requires a user for %s: set HTTPS_PROXY=http://USER:PASSWORD@%s", proxy.Redacted(), request.Host, proxy.Host)
	}
	return fmt.Errorf("proxy %s refuses a tunnel to %s: %s: have it permit CONNECT to that, or name the host in NO_PROXY",
		proxy.Redacted(), request.Host, answer.Status)
}

// config returns the settings of TLS.
func (c *Connection) config(i *Identity, authorities []string) (*tls.Config, error) {
	address, err := url.Parse(i.Address)
	if err != nil {
		return nil, fmt.Errorf("cannot use the address of the controller: %w", err)
	}
	config := &tls.Config{
		MinVersion: tls.VersionTLS13,
		//nolint:gosec // VerifyConnection verifies: an agent that joins knows the authority by its digest alone
		InsecureSkipVerify: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			return c.verify(s, address.Hostname(), trusted(i, s.PeerCertificates, authorities))
		},
	}
	if i.Joined() {
		pair, err := i.pair()
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{*pair}
	}
	return config, nil
}

// trusted returns the authorities of an identity; where digests are given, those of a chain that have one.
func trusted(i *Identity, chain []*x509.Certificate, digests []string) *x509.CertPool {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(i.Authorities))
	for _, one := range chain {
		if slices.Contains(digests, node.Digest(one.Raw)) {
			roots.AddCert(one)
		}
	}
	return roots
}

// verify verifies the controller. An error about the time of a certificate has both clocks: that of this machine, and what
// is known of the controller's.
func (c *Connection) verify(s tls.ConnectionState, host string, roots *x509.CertPool) error {
	if len(s.PeerCertificates) == 0 {
		return errors.New("the controller has shown no certificate")
	}
	leaf, now := s.PeerCertificates[0], c.Clock()
	_, err := leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: roots, CurrentTime: now})
	if invalid, is := errors.AsType[x509.CertificateInvalidError](err); is && invalid.Reason == x509.Expired {
		at := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
		return fmt.Errorf("%w: the clock of this machine shows %s, and the controller has signed its certificate at %s by its own clock: "+
			"correct the one that is wrong", err, at(now), at(leaf.NotBefore.Add(node.Backdate)))
	}
	return err
}

// ends returns when a certificate in PEM ends.
func ends(certificate string) (time.Time, error) {
	block, _ := pem.Decode([]byte(certificate))
	if block == nil || block.Type != blockCertificate {
		return time.Time{}, errors.New("cannot read the certificate of this node: remove its identity, and join anew")
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return time.Time{}, fmt.Errorf("cannot read the certificate of this node: %w", err)
	}
	return leaf.NotAfter, nil
}
