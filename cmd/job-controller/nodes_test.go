package main

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// RunNodes are served by an address that agents can use, or not at all.
func TestNodeAddress(t *testing.T) {
	tests := map[string]struct {
		why, address, host string
		refused            bool
	}{
		"none":   {"nothing is served", "", "", false},
		"name":   {"the certificate is for it", "https://orcon.example.org:9443", "orcon.example.org", false},
		"number": {"an address without a name", "https://10.0.0.1:9443", "10.0.0.1", false},
		"plain":  {"tokens need TLS", "http://orcon.example.org:9443", "", true},
		"path":   {"agents add their own", "https://orcon.example.org/nodes", "", true},
		"word":   {"no URL", "orcon.example.org:9443", "", true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var r remote
			flags := flag.NewFlagSet("", flag.ContinueOnError)
			r.define(flags)
			require.NoError(t, flags.Parse([]string{"-nodeAddress", tc.address}))
			err := r.check()
			if tc.refused {
				require.ErrorContains(t, err, "write https://HOST:PORT", tc.why)
				return
			}
			require.NoError(t, err, tc.why)
			assert.Equal(t, tc.host, r.host())
			assert.Equal(t, 9443, r.nodePort)
		})
	}
}
