package databag

import (
	"encoding/binary"
	"errors"
	"iter"
	"maps"
	"slices"
)

const (
	// lengthSize is how many bytes stand for a length.
	lengthSize = 8
	// partSize is how many bytes a part of a text has at least, but for the last.
	partSize = 16 << 10
)

// errEncoded reports a text that Encode does not make.
var errEncoded = errors.New("cannot read a databag: its lengths and keys are not as they are written")

// Encode returns a content as bytes: length-prefixed keys and values in key order.
func Encode(data map[string]string) []byte {
	text := make([]byte, 0, Size(data)+2*lengthSize*len(data))
	for part := range Parts(data) {
		text = append(text, part...)
	}
	return text
}

// Parts returns the text of Encode in parts, each until the next, so that a large one is not in memory twice.
func Parts(data map[string]string) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		part := make([]byte, 0, min(Size(data)+2*lengthSize*len(data), partSize))
		for _, k := range slices.Sorted(maps.Keys(data)) {
			part = appendString(appendString(part, k), data[k])
			if len(part) >= partSize {
				if !yield(part) {
					return
				}
				part = part[:0]
			}
		}
		if len(part) > 0 {
			yield(part)
		}
	}
}

// Decode reads the text of Encode. The content shares the memory of text.
func Decode(text string) (map[string]string, error) {
	data, last := map[string]string{}, ""
	for text != "" {
		key, rest, isKey := cutString(text)
		value, rest, isValue := cutString(rest)
		if !isKey || !isValue || len(data) > 0 && key <= last {
			return nil, errEncoded
		}
		data[key], last, text = value, key, rest
	}
	return data, nil
}

// appendString appends the length of s and then s.
func appendString(text []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint64(text, uint64(len(s))), s...)
}

// cutString returns the string that appendString has put first, and the rest.
func cutString(text string) (first, rest string, is bool) {
	if len(text) < lengthSize {
		return "", "", false
	}
	length := binary.BigEndian.Uint64([]byte(text[:lengthSize]))
	text = text[lengthSize:]
	if length > uint64(len(text)) {
		return "", "", false
	}
	return text[:length], text[length:], true
}
