// Package rest is the little of HTTP that bringing up a cluster needs: probes of
// components and a few objects of the Kubernetes API as plain JSON.
//
// A client library must not come in: what a cluster is made of is tested with
// other versions than its users'.
package rest

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/pki"
)

const (
	// requestTimeout bounds one request.
	requestTimeout = 5 * time.Second
	// pollInterval is how often Poll asks.
	pollInterval = 50 * time.Millisecond
)

// ErrExists says that an object to be created is already there.
var ErrExists = errors.New("it exists already")

// Dial opens connections; inside a node they start in its network.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Client is the little of the Kubernetes API that bringing up a cluster needs.
type Client struct {
	base string
	http *http.Client
}

// New makes a client of base, or one of whole URLs if base is empty. It trusts
// the authorities in PEM form and shows the leaf if that is not empty.
func New(base string, authority []byte, leaf pki.Leaf) (*Client, error) {
	config := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	if !config.RootCAs.AppendCertsFromPEM(authority) {
		return nil, errors.New("cannot read authority: no certificate in it")
	}
	if leaf.Certificate != nil {
		certificate, err := tls.X509KeyPair(leaf.Certificate, leaf.Key)
		if err != nil {
			return nil, fmt.Errorf("cannot use certificate: %w", err)
		}
		config.Certificates = []tls.Certificate{certificate}
	}
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	return &Client{base: base, http: &http.Client{Transport: transport, Timeout: requestTimeout}}, nil
}

// NewPlain makes a client of whole URLs without TLS that connects by dial.
func NewPlain(dial Dial) *Client {
	return &Client{http: &http.Client{Transport: &http.Transport{DialContext: dial}, Timeout: requestTimeout}}
}

// DialBy makes later connections go through dial.
func (c *Client) DialBy(dial Dial) {
	if transport, ok := c.http.Transport.(*http.Transport); ok {
		transport.DialContext = dial
	}
}

// Get fetches a path, or a whole URL if the client has no base, and decodes
// the answer into out unless that is nil.
func (c *Client) Get(ctx context.Context, path string, out any) error {
	return c.do(ctx, http.MethodGet, path, nil, out)
}

// Create posts an object to a collection. It returns ErrExists if there is one
// of its name.
func (c *Client) Create(ctx context.Context, path string, object any) error {
	data, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("cannot encode object: %w", err)
	}
	return c.do(ctx, http.MethodPost, path, data, nil)
}

func (c *Client) do(ctx context.Context, method, path string, body []byte, out any) error {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("cannot ask for %s: %w", path, err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return fmt.Errorf("cannot ask for %s: %w", path, err)
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return fmt.Errorf("cannot read answer for %s: %w", path, err)
	case response.StatusCode == http.StatusConflict:
		return fmt.Errorf("cannot %s %s: %w", strings.ToLower(method), path, ErrExists)
	case response.StatusCode >= http.StatusMultipleChoices:
		return fmt.Errorf("cannot %s %s: %s: %s", strings.ToLower(method), path, response.Status, data)
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("cannot read answer for %s: %w", path, err)
	}
	return nil
}

// Poll calls f until it returns nil or ctx ends, then with f's last error.
func Poll(ctx context.Context, f func() error) error {
	for {
		err := f()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; last answer: %w", context.Cause(ctx), err)
		case <-time.After(pollInterval):
		}
	}
}
