package sealed

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"filippo.io/age"
)

// keys are the keys of a file.
type keys struct {
	// to encrypts.
	to age.Recipient
	// all decrypt.
	all []age.Identity
}

// Check returns why a file of keys cannot be used.
func Check(file string) error {
	_, err := readKeys(file)
	return err
}

// readKeys reads a file of keys. Errors name its line, and never a key.
func readKeys(file string) (keys, error) {
	text, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		return keys{}, fmt.Errorf("cannot read the keys of states: %w: write one with age-keygen", err)
	}
	all, err := age.ParseIdentities(bytes.NewReader(text))
	if err != nil {
		why := strings.TrimPrefix(err.Error(), "error at ")
		return keys{}, fmt.Errorf("cannot read the keys of states: %s: %s: write one AGE-SECRET-KEY-… a line, as age-keygen does", file, why)
	}
	k := keys{all: all}
	switch first := all[0].(type) {
	case *age.X25519Identity:
		k.to = first.Recipient()
	case *age.HybridIdentity:
		k.to = first.Recipient()
	default:
		return keys{}, fmt.Errorf("cannot read the keys of states: %s: the first key is one that cannot encrypt: put another one first", file)
	}
	return k, nil
}
