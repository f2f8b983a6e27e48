package state

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Exclude is a list of globs of files and folders that are not captured. Its zero value excludes nothing.
type Exclude struct{ globs []glob }

type glob struct {
	pattern string
	// folder globs exclude folders only; anchored ones count from the top of the state.
	folder, anchored bool
}

// ParseExclude reads globs: "*", "?" and "[...]" do not cross "/". A glob with "/" at its end is for folders only. One
// with "/" elsewhere counts from the top of the state; any other, in every folder.
func ParseExclude(globs []string) (Exclude, error) {
	var e Exclude
	for _, text := range globs {
		one := glob{pattern: strings.TrimSuffix(text, "/"), folder: strings.HasSuffix(text, "/")}
		one.anchored = strings.Contains(one.pattern, "/")
		one.pattern = strings.TrimPrefix(one.pattern, "/")
		if _, err := path.Match(one.pattern, ""); err != nil || one.pattern == "" || strings.Contains(one.pattern, "**") {
			return Exclude{}, fmt.Errorf(`cannot exclude %q: write a glob such as ".terraform/", "*.log" or "cache/*.tmp"`, text)
		}
		e.globs = append(e.globs, one)
	}
	return e, nil
}

// With returns the list with more files at the top of the state, named as they are.
func (e Exclude) With(names ...string) Exclude {
	all := slices.Clone(e.globs)
	for _, name := range names {
		all = append(all, glob{pattern: name, anchored: true})
	}
	return Exclude{all}
}

// Matches reports whether a file or folder is excluded itself. What an excluded folder holds is not looked at.
func (e Exclude) Matches(name string, folder bool) bool {
	for _, g := range e.globs {
		if g.folder && !folder {
			continue
		}
		subject := name
		if !g.anchored {
			subject = path.Base(name)
		}
		if matched, _ := path.Match(g.pattern, subject); matched {
			return true
		}
	}
	return false
}
