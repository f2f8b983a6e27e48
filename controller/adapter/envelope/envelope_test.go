package envelope_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/envelope"
)

func key(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return k
}

// JOBS.md J14: what is sealed for a node has no trace of the message, and nothing opens it but the node's key for the run.
func TestEnvelope(t *testing.T) {
	own, message := key(t), []byte("s3cret-value")
	sealed, err := envelope.Seal(own.Public(), "run", message)
	require.NoError(t, err)
	assert.NotContains(t, string(sealed), "s3cret")
	again, err := envelope.Seal(own.Public(), "run", message)
	require.NoError(t, err)
	assert.NotEqual(t, sealed, again)
	got, err := envelope.Open(own, "run", sealed)
	require.NoError(t, err)
	assert.Equal(t, message, got)

	_, err = envelope.Open(key(t), "run", sealed)
	require.ErrorContains(t, err, "it is for another key or purpose, or was changed")
	_, err = envelope.Open(own, "other", sealed)
	require.ErrorContains(t, err, "it is for another key or purpose, or was changed")
	for at := range sealed {
		changed := append([]byte{}, sealed...)
		changed[at] ^= 1
		_, err = envelope.Open(own, "run", changed)
		require.Error(t, err, at)
	}
	for n := range sealed {
		_, err = envelope.Open(own, "run", sealed[:n])
		require.Error(t, err, n)
	}
}

// A key that cannot be sealed for is refused, with the cure.
func TestKey(t *testing.T) {
	public, _, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	for _, k := range []any{public, nil, "key"} {
		_, err = envelope.Seal(k, "run", nil)
		require.ErrorContains(t, err, "the key is not of P-256: join anew")
	}
}

// FuzzOpen takes any bytes: nothing that was not sealed is opened.
func FuzzOpen(f *testing.F) {
	own := key(f)
	sealed, err := envelope.Seal(own.Public(), "other", []byte("a"))
	require.NoError(f, err)
	f.Add(sealed)
	f.Fuzz(func(t *testing.T, text []byte) {
		_, err := envelope.Open(own, "run", text)
		require.Error(t, err)
	})
}
