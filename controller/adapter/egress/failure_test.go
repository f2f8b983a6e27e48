package egress_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/egress"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/destination"
)

// TestFailure keeps of an error the part that is known to quote nothing.
func TestFailure(t *testing.T) {
	refused := &destination.RefusedError{Kind: "a loopback address"}
	closed := &net.OpError{Op: "read", Err: syscall.ECONNRESET}
	unknown := &net.DNSError{Err: "no such host", Name: "example.org"}
	tests := map[string]struct {
		why      string
		in, want error
	}{
		"Refused":  {"without the address that was dialled", &net.OpError{Op: "dial", Err: refused}, refused},
		"System":   {"without the address of a redirect", &url.Error{Op: "Get", URL: "http://hush", Err: closed}, closed},
		"Name":     {"the host is the user's", &url.Error{Op: "Get", URL: "http://hush", Err: unknown}, unknown},
		"Own":      {"it is written here", fmt.Errorf("hush: %w", egress.Error("damaged")), egress.Error("damaged")},
		"Late":     {"a deadline", fmt.Errorf("hush: %w", context.DeadlineExceeded), context.DeadlineExceeded},
		"Ended":    {"nobody waits", fmt.Errorf("hush: %w", context.Canceled), context.Canceled},
		"CutOff":   {"in the middle", fmt.Errorf("hush: %w", io.ErrUnexpectedEOF), io.ErrUnexpectedEOF},
		"HungUp":   {"at once", fmt.Errorf("hush: %w", io.EOF), io.EOF},
		"Unknown":  {"a library's text", errors.New("malformed: hush"), nil},
		"NoAnswer": {"nothing failed", nil, nil},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) { assert.Equal(t, tc.want, egress.Failure(tc.in), tc.why) })
	}
}

// TestCertificate has a server with another host's certificate: its names are not quoted.
func TestCertificate(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	for label, carry := range map[string]http.RoundTripper{
		"Open": egress.Open(&http.Transport{}), "Guarded": allowing(t, "127.0.0.0/8").Transport(&http.Transport{}),
	} {
		err := get(t, carry, server.URL)
		require.ErrorContains(t, err, "add ca.crt to the credentials", label)
		assert.NotContains(t, err.Error(), "Acme", label)
	}
}

// allowing returns a guard with an allowed list.
func allowing(t *testing.T, entries string) egress.Guard {
	t.Helper()
	var g egress.Guard
	require.NoError(t, g.Rules.Allowed.Set(entries))
	return g
}
