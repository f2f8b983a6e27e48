package agent

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/envelope"
)

// JOBS.md J14: secrets are for the key of the node and for one run. An error has none of them.
func TestSecrets(t *testing.T) {
	c := newController(t)
	connection := c.joins()
	key, err := connection.Identity().private()
	require.NoError(t, err)
	var sealed []byte
	var failing error
	s := SealedSecrets{Connection: connection, Run: "u", Sealed: func(context.Context) ([]byte, error) { return sealed, failing }}
	for text, says := range map[string]string{`{"password":"czNjcmV0"}`: "", `"s3cret"`: "cannot use the secrets of the run: json: "} {
		sealed, err = envelope.Seal(key.Public(), "u", []byte(text))
		require.NoError(t, err)
		got, err := s.Secrets(t.Context())
		if says == "" {
			require.NoError(t, err)
			assert.Equal(t, map[string][]byte{"password": []byte("s3cret")}, got)
			continue
		}
		require.ErrorContains(t, err, says)
		assert.NotContains(t, err.Error(), "s3cret")
	}
	s.Run = "other"
	_, err = s.Secrets(t.Context())
	require.ErrorContains(t, err, "cannot use the secrets of the run: cannot open a sealed message")
	failing = errPassing
	_, err = s.Secrets(t.Context())
	require.ErrorIs(t, err, errPassing)
}
