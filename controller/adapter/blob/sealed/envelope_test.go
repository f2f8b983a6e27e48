package sealed_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/sealed"
)

// envelope returns a text that was encrypted to the public key of a store.
func envelope(t *testing.T, s *sealed.Store, text string) io.Reader {
	public, err := s.Recipient(t.Context())
	require.NoError(t, err)
	to, err := age.ParseRecipients(strings.NewReader(public))
	require.NoError(t, err)
	var out bytes.Buffer
	in, err := age.Encrypt(&out, to...)
	require.NoError(t, err)
	_, err = io.WriteString(in, text)
	require.NoError(t, err)
	require.NoError(t, in.Close())
	return &out
}

// JOBS.md J13 and J14: what others encrypt to the first key can be read by it, also when another one is first; by any other
// key it cannot be read.
func TestEnvelope(t *testing.T) {
	hybrid, err := age.GenerateHybridIdentity()
	require.NoError(t, err)
	for label, first := range map[string]string{"X25519": key(t), "hybrid": hybrid.String() + "\n"} {
		t.Run(label, func(t *testing.T) {
			s, _ := newStore(t, with(t, first))
			sent := envelope(t, s, "content")
			s.Keys = sealed.File(with(t, key(t), first))
			in, err := s.Unseal(t.Context(), sent)
			require.NoError(t, err)
			text, err := io.ReadAll(in)
			require.NoError(t, err)
			assert.Equal(t, "content", string(text))
			sent = envelope(t, s, "content")
			s.Keys = sealed.File(with(t, first))
			_, err = s.Unseal(t.Context(), sent)
			require.ErrorIs(t, err, blob.ErrLocked)
			_, err = s.Unseal(t.Context(), strings.NewReader("content"))
			require.ErrorContains(t, err, "it is not encrypted")
			s.Keys = sealed.File("/none")
			_, err = s.Recipient(t.Context())
			require.ErrorContains(t, err, "cannot read the keys of states")
		})
	}
}
