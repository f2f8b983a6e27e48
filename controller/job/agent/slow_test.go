package agent

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/certificate"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/node"
)

// pipes is a listener whose connections are in memory.
type pipes chan net.Conn

// Accept implements net.Listener.
func (p pipes) Accept() (net.Conn, error) {
	conn, is := <-p
	if !is {
		return nil, net.ErrClosed
	}
	return conn, nil
}

// Close implements net.Listener.
func (p pipes) Close() error {
	close(p)
	return nil
}

// Addr implements net.Listener.
func (pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes", Net: "unix"} }

// dial returns one end of a connection, whose other end is accepted.
func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	in, out := net.Pipe()
	p <- out
	return in, nil
}

// JOBS.md J13: an upload that the store takes slowly is waited for, and any other call is given up within a minute or so.
func TestSlowStore(t *testing.T) {
	for method, answered := range map[string]bool{http.MethodPut: true, http.MethodPost: false} {
		synctest.Test(t, func(t *testing.T) {
			root, err := certificate.NewRoot(time.Now(), certificate.DefaultPeriods())
			require.NoError(t, err)
			key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
			require.NoError(t, err)
			leaf, err := root.Sign(&x509.Certificate{
				DNSNames: []string{"controller.orcon.test"}, PublicKey: key.Public(), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
			}, time.Now(), certificate.Periods{Leaf: time.Hour, Skew: node.Backdate})
			require.NoError(t, err)
			served := &http.Server{
				ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0),
				TLSConfig: &tls.Config{
					MinVersion:   tls.VersionTLS13,
					Certificates: []tls.Certificate{{Certificate: [][]byte{leaf.Raw, root.Certificate.Raw}, PrivateKey: key}},
				},
				Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					select {
					case <-time.After(4 * time.Minute):
					case <-r.Context().Done():
					}
				}),
			}
			listener := make(pipes)
			go func() { _ = served.ServeTLS(listener, "", "") }()
			c := &Connection{Clock: time.Now}
			require.NoError(t, c.Use(&Identity{Address: "https://controller.orcon.test"}, node.Digest(root.Certificate.Raw)))
			c.transport.DialContext, c.uploads.DialContext = listener.dial, listener.dial
			r, err := http.NewRequestWithContext(t.Context(), method, "https://controller.orcon.test/", strings.NewReader("state"))
			require.NoError(t, err)
			answer, err := c.RoundTrip(r)
			assert.Equal(t, answered, err == nil, "%s: %v", method, err)
			if err == nil {
				require.NoError(t, answer.Body.Close())
			}
			c.transport.CloseIdleConnections()
			c.uploads.CloseIdleConnections()
			require.NoError(t, served.Close())
		})
	}
}
