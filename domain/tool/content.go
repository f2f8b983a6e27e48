package tool

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// largestContent is how long a secret may be, all its values in base64: what
// every store of secrets that Juju knows takes.
const largestContent = 1000 * 1000

// contentPair is one key of a secret as it is given: its value, or the file that
// holds it.
type contentPair struct {
	key string
	// value is text, or base64 with encoded set.
	value   string
	encoded bool
	file    string
}

var contentKey = regexp.MustCompile(`^[a-z](-?[a-z0-9]){2,}$`)

// parseContent reads arguments key=value, key#base64=value and key#file=path. It
// never repeats an argument: what looks like a mistake is perhaps a password.
func parseContent(args []string) ([]contentPair, error) {
	pairs := make([]contentPair, 0, len(args))
	for i, arg := range args {
		spec, value, found := strings.Cut(arg, "=")
		if !found || spec == "" {
			return nil, misuse("write key=value, key#base64=value or key#file=path", "argument %d is not a key, = and a value", i+1)
		}
		pair, err := newContentPair(spec, value)
		switch {
		case err != nil:
			return nil, misuse("", "argument %d: %v", i+1, err)
		case slices.ContainsFunc(pairs, func(p contentPair) bool { return p.key == pair.key }):
			return nil, misuse("give it once", "key %q is given twice", pair.key)
		}
		pairs = append(pairs, pair)
	}
	return pairs, nil
}

// newContentPair takes a key apart from what stands after its #. A key that is
// wrong is not repeated either.
func newContentPair(spec, value string) (contentPair, error) {
	key, how, marked := strings.Cut(spec, "#")
	pair := contentPair{key: key, value: value}
	switch {
	case !contentKey.MatchString(key):
		return pair, errors.New("not a key; use three or more lower-case letters, digits and single -, a letter first")
	case value == "":
		return pair, fmt.Errorf("key %q has no value; leave it out, or give it one", key)
	case !marked:
		return pair, nil
	case how == "base64":
		pair.encoded = true
		return pair, nil
	case how == "file":
		pair.value, pair.file = "", value
		return pair, nil
	default:
		return pair, fmt.Errorf("key %q is followed by something other than #base64 or #file", key)
	}
}

// content returns a secret's content from arguments and perhaps a file of keys
// and values.
func (s session) content(pairs []contentPair, file string) (map[string][]byte, error) {
	pairs = slices.Clone(pairs)
	if file != "" {
		more, err := s.contentFile(file)
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, more...)
	}
	content, size := make(map[string][]byte, len(pairs)), 0
	for _, pair := range pairs {
		if _, twice := content[pair.key]; twice {
			return nil, refuse(conversation.Invalid, "give it as an argument or in the file", "key %q is given twice", pair.key)
		}
		value, err := s.value(pair)
		if err != nil {
			return nil, err
		}
		content[pair.key] = value
		size += base64.StdEncoding.EncodedLen(len(value))
	}
	if size > largestContent {
		return nil, refuse(conversation.Invalid, "shorten it, or make two",
			"the secret is too large: %d bytes in base64, and %d are allowed", size, largestContent)
	}
	return content, nil
}

// contentFile reads a file of keys, which may end with #base64, and values.
func (s session) contentFile(file string) ([]contentPair, error) {
	text, err := s.file(file)
	if err != nil {
		return nil, err
	}
	entries, err := parseMap(fileName(file), text)
	if err != nil {
		return nil, err
	}
	pairs := make([]contentPair, 0, len(entries))
	for _, spec := range slices.Sorted(maps.Keys(entries)) {
		pair, err := newContentPair(spec, entries[spec])
		switch {
		case err != nil:
			return nil, refuse(conversation.Invalid, "see secret-add --help", "cannot use %s: %v", fileName(file), err)
		case pair.file != "":
			return nil, refuse(conversation.Invalid, "give it as an argument", "cannot use %s: key %q names another file", fileName(file), pair.key)
		}
		pairs = append(pairs, pair)
	}
	return pairs, nil
}

// value returns the bytes of one key.
func (s session) value(pair contentPair) ([]byte, error) {
	switch {
	case pair.file != "":
		return s.file(pair.file)
	case pair.encoded:
		value, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(pair.value, "=\r\n"))
		if err != nil {
			return nil, refuse(conversation.Invalid, "leave #base64 out if it is plain", "the value of key %q is not base64", pair.key)
		}
		return value, nil
	default:
		return []byte(pair.value), nil
	}
}

// files lists the files that keys name.
func files(pairs []contentPair) []string {
	var names []string
	for _, pair := range pairs {
		if pair.file != "" {
			names = append(names, pair.file)
		}
	}
	return names
}
