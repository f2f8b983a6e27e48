package relation

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"io"
	"maps"
	"slices"
)

// Databag is the application bag of one endpoint.
type Databag struct {
	Application string
	Endpoint    string
	Data        map[string]string
}

// Version returns the version of a bag's content: a hash over length-prefixed
// keys and values in key order, so that different contents differ
// (RELATIONS.md V1). Compare versions with "differs" only (V2).
func Version(data map[string]string) string {
	sum := sha256.New()
	for _, k := range slices.Sorted(maps.Keys(data)) {
		writeString(sum, k)
		writeString(sum, data[k])
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// writeString writes the length of s and then s.
func writeString(sum hash.Hash, s string) {
	sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(s))))
	_, _ = io.WriteString(sum, s)
}
