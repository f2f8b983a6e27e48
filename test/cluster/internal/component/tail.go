package component

import (
	"os"
	"strings"
)

// tailLines is how much of a log an error shows.
const tailLines = 15

// Tail returns the last lines of a log, or nothing if it cannot be read.
func Tail(file string) string {
	data, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	if len(lines) > tailLines {
		lines = lines[len(lines)-tailLines:]
	}
	return strings.Join(lines, "\n")
}
