package sealed

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"filippo.io/age"
)

// Source has the keys of states as text.
type Source interface {
	// Read returns one identity a line, as age-keygen writes them. The first one encrypts, each one decrypts.
	Read(ctx context.Context) ([]byte, error)
	// String names the source in messages.
	String() string
}

// File is a source in a file.
type File string

// Read implements Source.
func (f File) Read(context.Context) ([]byte, error) {
	text, err := os.ReadFile(filepath.Clean(string(f)))
	if err != nil {
		return nil, fmt.Errorf("%w: write one with age-keygen", err)
	}
	return text, nil
}

// String implements Source.
func (f File) String() string { return string(f) }

// Generate returns the text of a new key.
func Generate() (string, error) {
	k, err := age.GenerateX25519Identity()
	if err != nil {
		return "", fmt.Errorf("cannot make a key for states: %w", err)
	}
	return fmt.Sprintf("# public key: %s\n%s\n", k.Recipient(), k), nil
}

// keys are the keys of a source.
type keys struct {
	// to encrypts, public is its public key.
	to     age.Recipient
	public string
	// all decrypt.
	all []age.Identity
	// names are those of their recipients, in their order.
	names []string
}

// Check returns why a source of keys cannot be used.
func Check(ctx context.Context, source Source) error {
	_, err := readKeys(ctx, source)
	return err
}

// readKeys reads the keys of a source. Errors name its line, and never a key.
func readKeys(ctx context.Context, source Source) (keys, error) {
	text, err := source.Read(ctx)
	if err != nil {
		return keys{}, fmt.Errorf("cannot read the keys of states: %w", err)
	}
	all, err := age.ParseIdentities(bytes.NewReader(text))
	if err != nil {
		why := strings.TrimPrefix(err.Error(), "error at ")
		return keys{}, fmt.Errorf("cannot read the keys of states: %s: %s: write one AGE-SECRET-KEY-… a line, as age-keygen does", source, why)
	}
	k := keys{all: all}
	for _, one := range all {
		recipient, public, name := recipientOf(one)
		if recipient == nil {
			return keys{}, fmt.Errorf("cannot read the keys of states: %s: one of its keys is of a kind that is not known: write those of age-keygen", source)
		}
		if k.to == nil {
			k.to, k.public = recipient, public
		}
		k.names = append(k.names, name)
	}
	return k, nil
}

// recipientOf returns what encrypts to a key, the public key, and its name: the public key too, or the beginning of a digest
// of a long one.
func recipientOf(key age.Identity) (to age.Recipient, public, name string) {
	switch key := key.(type) {
	case *age.X25519Identity:
		return key.Recipient(), key.Recipient().String(), key.Recipient().String()
	case *age.HybridIdentity:
		const digits = 32
		public = key.Recipient().String()
		sum := sha256.Sum256([]byte(public))
		return key.Recipient(), public, "age1pq-" + hex.EncodeToString(sum[:])[:digits]
	}
	return nil, "", ""
}
