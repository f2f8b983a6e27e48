// Package databag holds what is true of any databag: keys to values, the version
// of such a content, and the reference to it.
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
	keys, size := make([]string, 0, len(data)), 0
	for k, v := range data {
		keys = append(keys, k)
		size += len(k) + len(v) + 2*lengthSize
	}
	slices.Sort(keys)
	text := make([]byte, 0, size)
	for _, k := range keys {
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

// lengthSize is how many bytes stand for a length.
const lengthSize = 8

// appendString appends the length of s and then s.
func appendString(text []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint64(text, uint64(len(s))), s...)
}
