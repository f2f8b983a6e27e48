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

// Databag is what an application, or one of its units, says on an endpoint.
type Databag struct {
	Application string
	Endpoint    string
	// Relation is the UID of the one relation that it is about; empty for what
	// needs no code and is said to everybody.
	Relation string
	// Unit is the number of the unit whose bag it is; empty for the application's.
	Unit string
	Data map[string]string
}

// Name returns the name of the object that holds the bag.
func (b Databag) Name() string {
	if b.Relation == "" {
		return DatabagName(b.Application, b.Endpoint)
	}
	return objectName(b.Application+"-"+b.Endpoint, b.Application, b.Endpoint, b.Relation, b.Unit)
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
