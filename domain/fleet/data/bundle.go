package data

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// cureBeside is the cure for a bundle that is not alone.
const cureBeside = "keep one of them, or name it as the path or folder of the source"

// rawBundle is the part of a bundle of Qontract that is read.
type rawBundle struct {
	// Data holds the files by their paths.
	Data map[string]json.RawMessage `json:"data"`
}

// Files returns the data files of a source: its own files, or those in the bundle of Qontract that it holds. A bundle
// is a JSON file with all data files by their paths, as qontract-server loads it. One that cannot be read, and one
// beside other data files, is an error: what it declares is unknown.
func Files(contents map[string][]byte) (map[string][]byte, error) {
	var bundles, others []string
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		switch {
		case isBundle(contents[name], len(contents) == 1):
			bundles = append(bundles, name)
		case open(name, contents[name]).schema != "":
			others = append(others, name)
		}
	}
	switch {
	case len(bundles) == 0:
		return contents, nil
	case len(bundles) > 1:
		return nil, fmt.Errorf("cannot use bundle %s: %s is a bundle too: %s", bundles[0], bundles[1], cureBeside)
	case len(others) > 0:
		return nil, fmt.Errorf("cannot use bundle %s: %s is a data file beside it: %s", bundles[0], others[0], cureBeside)
	}
	files, err := expand(contents[bundles[0]])
	if err != nil {
		return nil, fmt.Errorf("cannot use bundle %s: %w", bundles[0], err)
	}
	return files, nil
}

// isBundle reports whether a file is a bundle, complete or not: a JSON object that has keys of a bundle and no `$schema`.
// If it is the only file, the latter suffices.
func isBundle(content []byte, alone bool) bool {
	decoder := json.NewDecoder(bytes.NewReader(trimmed(content)))
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return false
	}
	found := map[string]bool{}
	for decoder.More() {
		key, err := decoder.Token()
		name, _ := key.(string)
		if err != nil || name == "$schema" {
			return alone && err != nil
		}
		if found[name] = true; found["git_commit"] || found["graphql"] || found["data"] && found["resources"] {
			return true
		}
		var skipped json.RawMessage
		if decoder.Decode(&skipped) != nil {
			return alone
		}
	}
	return alone
}

// trimmed returns a file without what editors write in front.
func trimmed(content []byte) []byte {
	return bytes.TrimSpace(bytes.TrimPrefix(content, []byte("\ufeff")))
}

// expand returns the files in a bundle.
func expand(content []byte) (map[string][]byte, error) {
	var b rawBundle
	content = trimmed(content)
	if err := json.Unmarshal(content, &b); err != nil {
		return nil, malformed(err, len(content))
	}
	if b.Data == nil {
		return nil, errors.New(`field "data" is missing: write the data files there, by path`)
	}
	files := map[string][]byte{}
	for _, name := range slices.Sorted(maps.Keys(b.Data)) {
		file, err := entry(name, b.Data[name])
		if err != nil {
			return nil, fmt.Errorf("#%s: %w", below("/data", name), err)
		}
		files[name] = file
	}
	return files, nil
}

// malformed describes a bundle that is not JSON, or of other types. It quotes nothing, since the bundle may be the answer
// of a server that was not meant (TRUST.md R4).
func malformed(err error, size int) error {
	syntax, ok := errors.AsType[*json.SyntaxError](err)
	switch {
	case !ok:
		return errors.New(`field "data" is not an object: write the data files there, by path`)
	case syntax.Offset >= int64(size):
		return fmt.Errorf("it breaks off at byte %d: write it again, whole", size)
	}
	return fmt.Errorf("it is not valid JSON at byte %d: write it again", syntax.Offset)
}

// entry returns a data file as JSON on one line. Of files that are never parsed only the schema stays, since a bundle
// may be large.
func entry(name string, content json.RawMessage) ([]byte, error) {
	if !strings.HasPrefix(name, "/") || path.Clean(name) != name || name == "/" {
		return nil, errors.New("the path of a data file begins with a slash, and has no empty name, \".\" or \"..\"")
	}
	var head struct {
		Schema json.RawMessage `json:"$schema"`
	}
	if !bytes.HasPrefix(content, []byte("{")) || json.Unmarshal(content, &head) != nil {
		return nil, errors.New("a data file is an object")
	}
	schema := ""
	if json.Unmarshal(head.Schema, &schema) != nil || schema == "" {
		return nil, errors.New(`field "$schema" is missing`)
	}
	if !slices.Contains(read, schema) {
		return json.Marshal(map[string]any{"$schema": schema})
	}
	if atMost(content) > 4*maxValues {
		return nil, fmt.Errorf("it has more than %d values: split it", maxValues)
	}
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber() // 64 bits of a float are not all digits
	var file map[string]any
	if err := decoder.Decode(&file); err != nil {
		return nil, errors.New("a data file is an object")
	}
	return json.Marshal(file) // anew, since YAML has no escapes of two halves, as JSON may write 😀
}
