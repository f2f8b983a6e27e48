package databag_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
)

// What is decoded is what was encoded (TRUST.md U2).
func TestDecodeReadsWhatEncodeWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bag := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "bag")
		text := databag.Encode(bag)
		again, err := databag.Decode(string(text))
		require.NoError(t, err)
		assert.Equal(t, bag, again)
		sum := sha256.Sum256(text)
		assert.Equal(t, databag.Version(bag), hex.EncodeToString(sum[:]))
	})
}

func TestDecodeRefuses(t *testing.T) {
	whole := string(databag.Encode(map[string]string{"a": "1", "b": "2"}))
	pair := len(whole) / 2
	for name, text := range map[string]string{
		"Cut":     whole[:len(whole)-1],
		"NoValue": whole[:pair+9],
		"Twice":   whole[:pair] + whole[:pair],
		"Order":   whole[pair:] + whole[:pair],
		"Length":  "\xff\xff\xff\xff\xff\xff\xff\xff",
		"Letters": "abc",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := databag.Decode(text)
			require.Error(t, err)
		})
	}
}

// FuzzDecode: a text is refused, or is the one way to write its content.
func FuzzDecode(f *testing.F) {
	f.Add(string(databag.Encode(map[string]string{"host": "db", "port": "5432"})))
	f.Fuzz(func(t *testing.T, text string) {
		if bag, err := databag.Decode(text); err == nil {
			assert.Equal(t, text, string(databag.Encode(bag)))
		}
	})
}
