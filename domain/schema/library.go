package schema

import (
	"embed"
	"errors"
	"fmt"
	"path"
)

//go:embed library/*.yaml
var library embed.FS

// Library returns the interfaces that ship with Orcon, in order of name, each time
// parsed anew: a caller keeps them. The error names a document that is wrong, which
// the tests exclude.
func Library() ([]Interface, error) {
	files, err := library.ReadDir("library")
	if err != nil {
		return nil, fmt.Errorf("cannot list the built-in interfaces: %w", err)
	}
	var failed []error
	all := make([]Interface, 0, len(files))
	for _, file := range files {
		text, err := library.ReadFile(path.Join("library", file.Name()))
		if err != nil {
			return nil, fmt.Errorf("cannot read the built-in interface %s: %w", file.Name(), err)
		}
		i, problems := Parse(text)
		for _, p := range problems {
			failed = append(failed, fmt.Errorf("built-in interface %s: %w", file.Name(), p))
		}
		all = append(all, i)
	}
	return all, errors.Join(failed...)
}
