package log

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"strings"
)

// The limits of the files below /logs.
const (
	// MaxFiles is the number of files of one run that are stored.
	MaxFiles = 64
	// maxName is how long the name of a file may be, in bytes: three times as long when it is escaped.
	maxName = 1 << 10
)

// The streams that are not files.
const (
	Stdout = "stdout"
	Stderr = "stderr"
)

const (
	// filePrefix begins the names of streams that are files.
	filePrefix = "file-"
	// fileDigits is how many digits of a digest name the stream of a file.
	fileDigits = 32
)

// StreamOf returns the stream of a file, by its path below /logs: a digest, since a file may have any name.
func StreamOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return filePrefix + hex.EncodeToString(sum[:])[:fileDigits]
}

// CheckName returns what is wrong with the path of a file below /logs.
func CheckName(name string) error {
	switch {
	case name == "" || len(name) > maxName:
		return fmt.Errorf("cannot store a log file whose name has %d bytes: use 1 to %d", len(name), maxName)
	case name == "." || name == ".." || path.Clean(name) != name || strings.HasPrefix(name, "/") || strings.HasPrefix(name, "../"):
		return fmt.Errorf("cannot store log file %q: its name leads out of /logs, or is not the shortest one", name)
	case strings.ContainsRune(name, 0):
		return fmt.Errorf("cannot store log file %q: its name has a zero byte", name)
	}
	return nil
}

// ParseStream returns the stream that a person names: stdout, stderr, or a file as /logs/PATH.
func ParseStream(text string) (string, error) {
	if text == Stdout || text == Stderr {
		return text, nil
	}
	name, file := strings.CutPrefix(text, "/logs/")
	if !file {
		return "", fmt.Errorf("cannot find log %q: use %s, %s, or the path of a file below /logs/", text, Stdout, Stderr)
	}
	return StreamOf(name), CheckName(name)
}
