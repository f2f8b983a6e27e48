package bindings

import (
	"errors"
	"fmt"
	"strings"
)

// ErrName is for a name that is not that of one entry of a folder, or that
// begins as the names do that are ours alone.
var ErrName = errors.New("it cannot be a file's name")

func checkNames(name string, files map[string]string) error {
	if err := checkName(name); err != nil {
		return err
	}
	for file := range files {
		if err := checkName(file); err != nil {
			return err
		}
	}
	return nil
}

func checkName(name string) error {
	if name == "" || name == "." || strings.HasPrefix(name, "..") || strings.ContainsAny(name, "/\x00") {
		return fmt.Errorf("%w: %q", ErrName, name)
	}
	return nil
}
