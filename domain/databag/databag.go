// Package databag holds what is true of any databag: keys to values, and the
// version of such a content.
//
// What must not come in: whose bag it is, who may read or write it, and where it
// is stored.
package databag

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"
)

// Version returns the version of a bag's content: a hash over length-prefixed
// keys and values in key order, so that different contents differ
// (RELATIONS.md V1). Compare versions with "differs" only (V2).
func Version(data map[string]string) string {
	var text []byte
	for _, k := range slices.Sorted(maps.Keys(data)) {
		text = appendString(text, k)
		text = appendString(text, data[k])
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Overlay returns a bag with another layer on it; an empty value of the layer
// deletes the key (RELATIONS.md P3).
func Overlay(bag, layer map[string]string) map[string]string {
	all := maps.Clone(bag)
	if all == nil && len(layer) > 0 {
		all = make(map[string]string, len(layer))
	}
	maps.Copy(all, layer)
	maps.DeleteFunc(all, func(_, v string) bool { return v == "" })
	return all
}

// appendString appends the length of s and then s.
func appendString(text []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint64(text, uint64(len(s))), s...)
}
