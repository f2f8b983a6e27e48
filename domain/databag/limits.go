package databag

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// The limits of a databag (RELATIONS.md P6), in bytes but for MaxKeys.
const (
	MaxKey   = 253
	MaxValue = 64 << 10
	MaxBag   = 512 << 10
	// MaxKeys is how many keys a bag has: an agent reads one bag at a time into memory (TRUST.md U2).
	MaxKeys = 1024
	// MaxEncoded is how large a databag and its history are as Kubernetes encodes them: less than the 1 MiB that an
	// object may have.
	MaxEncoded = 1<<20 - 128<<10
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
		return &Breach{Key: key[:40] + "…",
			Reason: fmt.Sprintf("a key has at most %d bytes, this one has %d", MaxKey, len(key)), Cure: "shorten it"}
	case len(value) > MaxValue:
		return &Breach{Key: key, Reason: fmt.Sprintf("a value has at most %d bytes, this one has %d", MaxValue, len(value)), Cure: "shorten it"}
	case !utf8.ValidString(key) || !utf8.ValidString(value):
		return &Breach{Key: key, Reason: "it is not UTF-8", Cure: "encode it, for example as base64"}
	default:
		return nil
	}
}

// CheckSize returns why a databag is too large as a whole, or nil: for what people write, or for what Kubernetes makes
// of it, which writes some characters as six (RELATIONS.md P6, TRUST.md U1).
func CheckSize(bag map[string]string) *Breach {
	size, encoded := Size(bag), Encoded(bag)
	b := Breach{Cure: "remove some of its keys"}
	switch {
	case len(bag) > MaxKeys:
		b.Reason = fmt.Sprintf("a databag has at most %d keys, this one has %d", MaxKeys, len(bag))
	case size > MaxBag:
		b.Reason = fmt.Sprintf("a databag has at most %d bytes, this one has %d", MaxBag, size)
	case encoded > MaxEncoded:
		b.Reason = fmt.Sprintf("a databag has at most %d bytes as Kubernetes encodes it, this one, of %d bytes, has %d",
			MaxEncoded, size, encoded)
	default:
		return nil
	}
	return &b
}

// CheckChange returns why a databag cannot become another as a whole, or nil. One that is too large already may shrink.
func CheckChange(before, after map[string]string) *Breach {
	breach := CheckSize(after)
	shrinks := len(after) <= len(before) && Size(after) <= Size(before) && Encoded(after) <= Encoded(before)
	if breach != nil && shrinks {
		return nil
	}
	return breach
}

// Size is how many bytes the keys and values of a databag have.
func Size(bag map[string]string) int {
	size := 0
	for k, v := range bag {
		size += len(k) + len(v)
	}
	return size
}

// Encoded is how many bytes a databag has as JSON, or somewhat more, with the name of each key once more, since
// Kubernetes notes who manages it.
func Encoded(bag map[string]string) int {
	size := 0
	for k, v := range bag {
		size += 2*EncodedText(k) + EncodedText(v) + len(`f::{}`)
	}
	return size
}

// EncodedText is how many bytes a text has as JSON, with its quotes and what stands between it and the next.
func EncodedText(text string) int {
	size := len(text) + len(`"",`)
	for i, c := range text {
		switch c {
		case '"', '\\', '\n', '\r', '\t':
			size++
		case '<', '>', '&':
			size += len(`\u0000`) - 1
		case '\u2028', '\u2029':
			size += len(`\u0000`) - 3
		case utf8.RuneError:
			if !strings.HasPrefix(text[i:], "\ufffd") {
				size += len(`\u0000`) - 1 // no UTF-8
			}
		default:
			if c < ' ' {
				size += len(`\u0000`) - 1
			}
		}
	}
	return size
}

// FileName reports whether a key may be a file's name (SAFETY.md W1):
// [A-Za-z0-9][A-Za-z0-9._-]{0,252}.
func FileName(key string) bool {
	if key == "" || len(key) > MaxKey || strings.IndexByte("._-", key[0]) >= 0 {
		return false
	}
	return strings.IndexFunc(key, func(r rune) bool {
		letterOrDigit := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letterOrDigit && !strings.ContainsRune("._-", r)
	}) < 0
}
