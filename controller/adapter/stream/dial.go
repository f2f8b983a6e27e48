package stream

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"time"
)

// transport returns what dials the controller with today's trust. It never uses
// a proxy that the pod's environment may name, nor the system's authorities.
func (c *Client) transport() (*http.Transport, error) {
	roots, err := c.roots()
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: c.Pace.Dial, KeepAliveConfig: net.KeepAliveConfig{Enable: false}}
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	return &http.Transport{
		DialContext:         dialer.DialContext,
		TLSHandshakeTimeout: c.Pace.Dial,
		TLSClientConfig:     &tls.Config{RootCAs: roots, ServerName: c.ServerName, MinVersion: tls.VersionTLS13},
		Protocols:           protocols,
		DisableCompression:  true,
		IdleConnTimeout:     time.Second, // a connection serves one conversation
		HTTP2: &http.HTTP2Config{
			SendPingTimeout: c.Pace.Quiet,
			PingTimeout:     c.Pace.Answer,
			// Enough for a large bag in one round trip; unread data stays with
			// the sender.
			MaxReceiveBufferPerConnection: 512 << 10,
			MaxReceiveBufferPerStream:     256 << 10,
		},
	}, nil
}

// roots returns the union of the trust given at admission and today's file: in
// a rotation either may be the older one.
func (c *Client) roots() (*x509.CertPool, error) {
	file, err := os.ReadFile(c.TrustFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot read the trust bundle: %w", err)
	}
	roots := x509.NewCertPool()
	admitted, current := roots.AppendCertsFromPEM([]byte(c.Trust)), roots.AppendCertsFromPEM(file)
	if !admitted && !current {
		return nil, fmt.Errorf("cannot trust any controller: neither ORCON_TRUST nor %s holds a certificate", c.TrustFile)
	}
	return roots, nil
}

func httpClient(t *http.Transport) *http.Client {
	return &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
