package integrationset

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
)

const (
	// maxName bounds the characters of a name; the last ones, suffix of them, are a checksum.
	maxName = 52
	suffix  = 8
)

// unnameable matches characters that a name in the cluster cannot have.
var unnameable = regexp.MustCompile(`[^a-z0-9]+`)

// shared begins the names of members without an integration, which are the same for all sets.
const shared = "shared"

// Name returns the name of a member of a set: the set, the integration, and a checksum that tells namespaces apart.
func Name(set string, k Key) string {
	if k.Integration == "" {
		set = shared
	}
	words := strings.Trim(unnameable.ReplaceAllString(strings.ToLower(set+"-"+k.Integration), "-"), "-")
	words = strings.Trim(words[:min(len(words), maxName-suffix-1)], "-")
	return words + k.suffix()
}

// Named reports whether a name is one of a member: whichever set made it, it ends in the checksum of its key.
func Named(name string, k Key) bool { return strings.HasSuffix(name, k.suffix()) }

func (k Key) suffix() string {
	sum := sha256.Sum256([]byte(k.Namespace + "\n" + k.Integration))
	return "-" + hex.EncodeToString(sum[:])[:suffix]
}
