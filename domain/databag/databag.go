// Package databag holds what is true of any databag: keys to values, the version
// of such a content, and the reference to it.
//
// What must not come in: whose bag it is, who may read or write it, and where it
// is stored.
package databag

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
)

// Version returns the version of a bag's content: the hash of its text by Encode, so that different contents differ
// (RELATIONS.md V1). Compare versions with "differs" only (V2).
func Version(data map[string]string) string {
	hash := sha256.New()
	for part := range Parts(data) {
		_, _ = hash.Write(part) // never fails
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// ValueVersion returns the version of one value of a bag, as Version does; empty for no value.
func ValueVersion(value string) string {
	if value == "" {
		return ""
	}
	return Version(map[string]string{"": value})
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
