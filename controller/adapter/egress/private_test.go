package egress_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/egress"
)

// carried counts requests.
type carried int

// RoundTrip implements http.RoundTripper.
func (c *carried) RoundTrip(*http.Request) (*http.Response, error) {
	*c++
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

// CONTENT.md X6: credentials go over TLS or to the machine itself, and to one host and port where that is set.
func TestPrivate(t *testing.T) {
	const open, other = "credentials are not sent without it", "another host or port"
	tests := map[string]struct{ why, only, address, want string }{
		"TLS":       {"as it should be", "", "https://git.example.org/a", ""},
		"Open":      {"anybody on the way could read them", "", "http://git.example.org/a", open},
		"Machine":   {"nobody is on the way", "", "http://127.0.0.1:3000/a", ""},
		"Localhost": {"nobody is on the way", "", "http://localhost:3000/a", ""},
		"Same":      {"the server itself", "https://git.example.org/a", "https://git.example.org/b", ""},
		"Port":      {"another program", "https://git.example.org/a", "https://git.example.org:8443/a", other},
		"Below":     {"another server", "https://example.org/a", "https://git.example.org/a", other},
		"Downgrade": {"the server itself without TLS", "https://git.example.org/a", "http://git.example.org/a", open},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			var base carried
			p := egress.Private{Base: &base}
			if tc.only != "" {
				var err error
				p.Only, err = url.Parse(tc.only)
				require.NoError(t, err)
			}
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, tc.address, strings.NewReader("x"))
			require.NoError(t, err)
			response, err := p.RoundTrip(r)
			require.NoError(t, err, "without credentials all may be asked")
			_ = response.Body.Close()
			r.Header.Set("Authorization", "Bearer hush")
			response, err = p.RoundTrip(r)
			if tc.want == "" {
				require.NoError(t, err, tc.why)
				assert.Equal(t, carried(2), base)
				_ = response.Body.Close()
				return
			}
			require.ErrorContains(t, err, tc.want, tc.why)
			assert.Equal(t, carried(1), base, tc.why)
		})
	}
}
