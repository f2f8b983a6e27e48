package egress_test

import (
	"net/http"
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

// CONTENT.md X6: credentials go over TLS or to the machine itself.
func TestPrivate(t *testing.T) {
	tests := map[string]struct {
		why, address string
		refused      bool
	}{
		"TLS":       {"as it should be", "https://git.example.org/a", false},
		"Open":      {"anybody on the way could read them", "http://git.example.org/a", true},
		"Network":   {"the machine's own network is one", "http://10.0.0.1:3000/a", true},
		"Machine":   {"nobody is on the way", "http://127.0.0.1:3000/a", false},
		"Machine6":  {"nobody is on the way", "http://[::1]:3000/a", false},
		"Localhost": {"nobody is on the way", "http://localhost:3000/a", false},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			var base carried
			p := egress.Private(&base)
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, tc.address, strings.NewReader("x"))
			require.NoError(t, err)
			response, err := p.RoundTrip(r)
			require.NoError(t, err, "without credentials all may be asked")
			_ = response.Body.Close()
			r.Header.Set("Authorization", "Bearer hush")
			response, err = p.RoundTrip(r)
			if !tc.refused {
				require.NoError(t, err, tc.why)
				assert.Equal(t, carried(2), base)
				_ = response.Body.Close()
				return
			}
			require.ErrorContains(t, err, "credentials are not sent without it: use https://", tc.why)
			assert.Equal(t, carried(1), base, tc.why)
		})
	}
}
