package main

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/sealed"
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

// Agents encrypt what they keep to the first key of states.
func TestLearn(t *testing.T) {
	text, err := sealed.Generate()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "keys")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	want, _, _ := strings.Cut(strings.TrimPrefix(text, "# public key: "), "\n")
	r := &recipient{store: &sealed.Store{Keys: sealed.File(file)}}
	assert.Empty(t, r.key())
	assert.False(t, r.NeedLeaderElection(), "each replica serves nodes")
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Start(ctx) }()
	require.Eventually(t, func() bool { return r.key() == want }, time.Minute, time.Millisecond)
	end()
	require.NoError(t, <-ended)
	r.store.Keys = sealed.File("/none")
	require.Error(t, r.learn(t.Context()))
	assert.Equal(t, want, r.key(), "a key that cannot be read now is not another one")
}
