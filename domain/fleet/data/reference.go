package data

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// library holds the files of the data by path, and each parsed once.
type library struct {
	documents map[string]document
	parsed    map[string]parsed
	// left is how many values may still be parsed.
	left *int
}

// parsed is the outcome of parsing a file.
type parsed struct {
	root     value
	problems []Problem
}

// root returns the content of a file.
func (l library) root(path string) (value, []Problem) {
	p, done := l.parsed[path]
	if !done {
		d := l.documents[path]
		if *l.left -= min(atMost(d.content), 4*maxValues); *l.left < 0 {
			p.problems = []Problem{{Location{File: path}, fmt.Sprintf("the data have more than %d values", maxParsed), "use fewer files"}}
		} else {
			p.root, p.problems = d.root()
		}
		l.parsed[path] = p
	}
	return p.root, p.problems
}

// resolve follows `$ref`s until a value has none. With problems it returns the last
// document that it reached.
func (l library) resolve(v value) (value, []Problem) {
	chain := []string{v.document.path}
	for {
		ref, problems := reference(v)
		if len(problems) > 0 || ref == nil {
			return v, problems
		}
		path := ref.node.Value
		target, there := l.documents[path]
		switch {
		case !strings.HasPrefix(path, "/"):
			return v, ref.refuse(fmt.Sprintf("%q is not a path of the data", path), "begin it with a slash")
		case !there:
			cure := Suggest(path, slices.Sorted(maps.Keys(l.documents)))
			return v, ref.refuse(path+" is not in the data", cure)
		case slices.Contains(chain[1:], path):
			return v, ref.refuse("the reference leads to itself: "+strings.Join(append(chain, path), " → "), "name the object's own file")
		case !slices.Contains(read, target.schema):
			return v, ref.refuse(fmt.Sprintf("%s has schema %q", path, target.schema), "name a file of schema "+strings.Join(read[1:], ", "))
		}
		chain = append(chain, path)
		if v, problems = l.root(path); len(problems) > 0 {
			return value{document: target}, problems
		}
	}
}

// reference returns the value of `$ref`; nil if there is none.
func reference(v value) (*value, []Problem) {
	if v.absent() {
		return nil, nil
	}
	fields, problems := v.fields()
	i := slices.IndexFunc(fields, func(f pair) bool { return f.name == "$ref" })
	if i < 0 || len(problems) > 0 {
		return nil, problems
	}
	return &fields[i].value, nil
}

// find resolves a value to an object of one of the schemas. An object that is
// written in place has no schema of its own and is accepted.
func (l library) find(v value, schemas ...string) (value, []Problem) {
	found, problems := l.resolve(v)
	if len(problems) > 0 || found.pointer != "" || slices.Contains(schemas, found.document.schema) {
		return found, problems
	}
	reason := fmt.Sprintf("%s has schema %s", found.document.path, found.document.schema)
	return found, v.refuse(reason, "name a file of schema "+strings.Join(schemas, " or "))
}
