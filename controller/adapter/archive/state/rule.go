package state

import (
	"archive/tar"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// ErrTooLarge is wrapped where an archive exceeds its limit.
var ErrTooLarge = errors.New("the state is too large")

// ErrRefused is wrapped where an archive, or a folder, has what no state may have.
var ErrRefused = errors.New("the state is refused")

// permissions are the bits of a mode that are kept: no program of a state runs as its owner.
const permissions = 0o777

// checkName returns what is wrong with the path of an entry.
func checkName(name string) error {
	switch {
	case name == "" || name == "." || strings.HasPrefix(name, "/"):
		return refuse(name, "it is absolute or empty", "use a path below the state")
	case name == ".." || strings.HasPrefix(name, "../") || path.Clean(name) != name:
		return refuse(name, `it has an empty name, "." or ".." in it`, "use the shortest path below the state")
	case strings.ContainsRune(name, 0):
		return refuse(name, "it has a zero byte", "rename it")
	}
	return nil
}

// checkLink returns what is wrong with a symbolic link. Every ".." must come first, because after another link it
// would lead up from somewhere else.
func checkLink(name, target string) error {
	const cure = "use a relative path below the state, or exclude the link"
	if target == "" || strings.HasPrefix(target, "/") || strings.ContainsRune(target, 0) {
		return refuse(name, fmt.Sprintf("it links to %q, outside of the state", target), cure)
	}
	if path.Clean(target) != target {
		return refuse(name, fmt.Sprintf("it links to %q, which is not the shortest form", target), cure)
	}
	up := 0
	for part := range strings.SplitSeq(target, "/") {
		if part == ".." {
			up++
		}
	}
	if up > strings.Count(name, "/") {
		return refuse(name, fmt.Sprintf("it links to %q, outside of the state", target), cure)
	}
	return nil
}

// headerOf returns the header of an entry: no times, no names of users, no owners. A mode that no state may have is
// refused.
func headerOf(name string, mode fs.FileMode, size int64, target string) (tar.Header, error) {
	h := tar.Header{Name: name, Mode: int64(mode & permissions)}
	switch mode.Type() {
	case 0:
		h.Typeflag, h.Size = tar.TypeReg, size
	case fs.ModeDir:
		h.Typeflag, h.Name = tar.TypeDir, name+"/"
	case fs.ModeSymlink:
		h.Typeflag, h.Linkname, h.Mode = tar.TypeSymlink, target, permissions
		return h, errors.Join(checkName(name), checkLink(name, target))
	default:
		return h, refuse(name, "it is "+kindOf(mode), "remove or exclude it")
	}
	return h, checkName(name)
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeDevice != 0:
		return "a device"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "neither a file nor a folder nor a symbolic link"
}

func refuse(name, why, cure string) error {
	return fmt.Errorf("%w: %q: %s: %s", ErrRefused, name, why, cure)
}

// before reports whether an entry comes before another: folders before what they hold, names in order of their bytes.
func before(a, b string) bool {
	return strings.ReplaceAll(a, "/", "\x00") < strings.ReplaceAll(b, "/", "\x00")
}
