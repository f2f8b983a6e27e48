package secret

import (
	"encoding/base64"
	"maps"
	"regexp"
	"slices"
)

// maxContent is how long all values of a revision may be, in base64.
const maxContent = 1000 * 1000

var key = regexp.MustCompile(`^[a-z](-?[a-z0-9]){2,200}$`)

// CheckContent refuses what no revision may hold. It never repeats a value.
func CheckContent(content map[string][]byte) error {
	size := 0
	for _, k := range slices.Sorted(maps.Keys(content)) {
		switch {
		case !key.MatchString(k):
			return invalid("use three or more lower-case letters, digits and single -, a letter first",
				"cannot store a secret: one of its keys is not a key")
		case len(content[k]) == 0:
			return invalid("leave it out, or give it one", "cannot store a secret: key %q has no value", k)
		}
		size += base64.StdEncoding.EncodedLen(len(content[k]))
	}
	if size > maxContent {
		return invalid("store less", "cannot store a secret: it has %d bytes in base64, and %d are allowed", size, maxContent)
	}
	return nil
}

// Draft is a write as a unit gives it: with the content of a new revision.
type Draft struct {
	Write

	Content map[string][]byte
}

// Reading is the result of a unit's read.
type Reading struct {
	ID       string
	Revision int
	Content  map[string][]byte
}
