package blob

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Key names a blob. Blobs lie under the workspace and the fence that wrote them, and no two fences share one.
type Key struct {
	// Workspace is a UID: a workspace that is made anew under its name has other blobs.
	Workspace string
	Fence     int64
	// Name is unique within the fence.
	Name string
}

// Own takes the place of a workspace in the keys of the store's own records.
const Own = "store"

var part = regexp.MustCompile(`^[a-z0-9]([a-z0-9._-]{0,126}[a-z0-9])?$`)

// fenceDigits is the number of digits of each fence, so that the order of texts is that of numbers.
const fenceDigits = 19

// Check returns what is wrong with a key.
func (k Key) Check() error {
	for _, text := range []string{k.Workspace, k.Name} {
		if !part.MatchString(text) {
			return fmt.Errorf("cannot use %q in a blob's key: use 1 to 128 of a-z, 0-9, '.', '_' and '-', "+
				"a letter or digit first and last", text)
		}
	}
	if k.Fence < 1 {
		return fmt.Errorf("cannot use fence %d in a blob's key: fences begin with 1", k.Fence)
	}
	return nil
}

// String returns the key as a path: workspace/fence/name.
func (k Key) String() string {
	return fmt.Sprintf("%s/%0*d/%s", k.Workspace, fenceDigits, k.Fence, k.Name)
}

// ParseKey reads what String returns, and nothing else.
func ParseKey(text string) (Key, error) {
	parts := strings.Split(text, "/")
	if len(parts) != 3 || len(parts[1]) != fenceDigits {
		return Key{}, fmt.Errorf("cannot read blob key %q: it is not WORKSPACE/FENCE/NAME with a fence of %d digits", text, fenceDigits)
	}
	fence, err := strconv.ParseUint(parts[1], 10, 63)
	if err != nil {
		return Key{}, fmt.Errorf("cannot read blob key %q: its fence is not a number", text)
	}
	k := Key{Workspace: parts[0], Fence: int64(fence), Name: parts[2]}
	return k, k.Check()
}

// Folder returns the path above the blobs of a fence.
func Folder(workspace string, fence int64) (string, error) {
	key := Key{Workspace: workspace, Fence: fence, Name: "x"}
	return strings.TrimSuffix(key.String(), "/x"), key.Check()
}

// ParseFolder returns the fence whose folder has a name.
func ParseFolder(text string) (fence int64, err error) {
	key, err := ParseKey("x/" + text + "/x")
	return key.Fence, err
}

// Compare orders keys by workspace, fence and name.
func Compare(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Workspace, b.Workspace), cmp.Compare(a.Fence, b.Fence), cmp.Compare(a.Name, b.Name))
}
