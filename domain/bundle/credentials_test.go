package bundle_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// BUNDLES.md, invariant 10: secret values appear nowhere.
func TestParseCredentials(t *testing.T) {
	tests := map[string]struct {
		why  string
		data map[string]string
		want string
	}{
		"Password": {why: "both", data: map[string]string{"username": "me", "password": "hush"}},
		"Token":    {why: "alone, with an authority", data: map[string]string{"token": "hush", "ca.crt": "pem"}},
		"Key":      {why: "the host is known", data: map[string]string{"ssh-privatekey": "hush", "known_hosts": "x"}},
		"Unknown":  {why: "misspelt", data: map[string]string{"pasword": "hush"}, want: `"pasword" is none of ca.crt, known_hosts`},
		"Both":     {why: "which?", data: map[string]string{"token": "hush", "username": "me"}, want: "keep one"},
		"NoUser":   {why: "half", data: map[string]string{"password": "hush"}, want: "add username"},
		"NoHost":   {why: "anybody could answer", data: map[string]string{"ssh-privatekey": "hush"}, want: "known_hosts"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			c, err := bundle.ParseCredentials(tc.data)
			if tc.want != "" {
				require.ErrorContains(t, err, tc.want, tc.why)
				assert.NotContains(t, err.Error(), "hush")
				return
			}
			require.NoError(t, err, tc.why)
			for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
				assert.NotContains(t, fmt.Sprintf(verb, c), "hush", verb)
			}
		})
	}
}
