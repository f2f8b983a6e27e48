package log

import (
	"fmt"
	"strconv"
	"strings"
)

// Prefix begins the names of chunks in the store.
const Prefix = "log-"

// Key returns the name of a chunk in the store, below the fence of its run: names sort as numbers do.
func Key(stream string, number int64) (string, error) {
	if err := checkStream(stream); err != nil {
		return "", err
	}
	if number < 1 || number > maxNumber {
		return "", fmt.Errorf("cannot name chunk %d of %s: numbers are from 1 to %d", number, stream, int64(maxNumber))
	}
	return fmt.Sprintf("%s%s-%0*d", Prefix, stream, digits, number), nil
}

// The numbers of chunks have so many digits.
const (
	digits    = 10
	maxNumber = 9_999_999_999
)

// ParseKey reads a name that Key has written, and no other.
func ParseKey(key string) (stream string, number int64, err error) {
	if at := len(key) - digits - 1; at > len(Prefix) {
		stream = strings.TrimPrefix(key[:at], Prefix)
		number, _ = strconv.ParseInt(key[at+1:], 10, 64)
	}
	if written, err := Key(stream, number); err != nil || written != key {
		return "", 0, fmt.Errorf("cannot read chunk name %q: it must be %sSTREAM-NUMBER with %d digits", key, Prefix, digits)
	}
	return stream, number, nil
}

// checkStream refuses the name of a stream that could lead elsewhere.
func checkStream(name string) error {
	const most = 63
	fits := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '.' || r == '_'
	}
	if name == "" || len(name) > most || name[0] == '.' || strings.ContainsFunc(name, func(r rune) bool { return !fits(r) }) {
		return fmt.Errorf("cannot use %q as the name of a stream: use at most %d of a-z, 0-9, '-', '_' and '.'", name, most)
	}
	return nil
}
