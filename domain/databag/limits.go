package databag

import (
	"fmt"
	"unicode/utf8"
)

// The limits of a databag (RELATIONS.md P6), in bytes.
const (
	MaxKey   = 253
	MaxValue = 64 << 10
	MaxBag   = 512 << 10
)

// Breach is a limit that a databag does not keep.
type Breach struct {
	// Key is the key that is wrong, shortened where it is too long; empty for the whole bag.
	Key          string
	Reason, Cure string
}

// CheckPair returns why a key and value cannot be in a databag, or nil
// (RELATIONS.md P6).
func CheckPair(key, value string) *Breach {
	switch {
	case len(key) > MaxKey:
		return &Breach{Key: key[:40] + "…", Reason: fmt.Sprintf("a key has at most %d bytes, this one has %d", MaxKey, len(key)), Cure: "shorten it"}
	case len(value) > MaxValue:
		return &Breach{Key: key, Reason: fmt.Sprintf("a value has at most %d bytes, this one has %d", MaxValue, len(value)), Cure: "shorten it"}
	case !utf8.ValidString(key) || !utf8.ValidString(value):
		return &Breach{Key: key, Reason: "it is not UTF-8", Cure: "encode it, for example as base64"}
	default:
		return nil
	}
}

// CheckSize returns why a databag is too large as a whole, or nil
// (RELATIONS.md P6).
func CheckSize(bag map[string]string) *Breach {
	size := 0
	for k, v := range bag {
		size += len(k) + len(v)
	}
	if size <= MaxBag {
		return nil
	}
	return &Breach{Reason: fmt.Sprintf("a databag has at most %d bytes, this one has %d", MaxBag, size), Cure: "remove some of its keys"}
}
