package plain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// document is one of the documents of a file.
type document struct {
	file string
	// number and line count from 1; the line is the document's first.
	number, line int
	text         []byte
}

// location names the document for a user.
func (d document) location() string {
	return fmt.Sprintf("%s, document %d (line %d)", d.file, d.number, d.line)
}

// fault returns an error with its location, its cause and its cure.
func fault(location string, cause error, cure string) error {
	return bundle.Located("cannot read "+location, fmt.Errorf("%w: %s", cause, cure))
}

// IsManifest reports whether a file holds objects, by its name. Names that begin with a dot are those of
// settings.
func IsManifest(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") {
			return false
		}
	}
	switch path.Ext(name) {
	case ".yaml", ".yml", ".json":
		return true
	default:
		return false
	}
}

// split returns the documents of a file; those that hold nothing but comments too.
func split(file string, text []byte) ([]document, error) {
	if path.Ext(file) == ".json" {
		return splitJSON(file, text)
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	all := []document{{file: file, number: 1, line: 1}}
	line, ended := 0, false
	for part := range bytes.Lines(text) {
		line++
		after, begins := marked(part, "---")
		_, ends := marked(part, "...")
		if begins || ended && !ends && written(part) {
			all = append(all, document{file: file, number: len(all) + 1, line: line})
			ended = false
		}
		if begins { // What follows on the same line belongs to the new document.
			part = append([]byte("   "), after...)
		}
		ended = ended || ends
		last := &all[len(all)-1]
		last.text = append(last.text, part...)
	}
	if len(all) > 1 && len(bytes.TrimSpace(all[0].text)) == 0 {
		// A file that begins with a separator has nothing before it.
		all = all[1:]
		for i := range all {
			all[i].number--
		}
	}
	return all, nil
}

// marked returns what follows a mark at the beginning of a line, and whether the mark stands there as a word of its own.
func marked(line []byte, mark string) (after []byte, is bool) {
	after, is = bytes.CutPrefix(line, []byte(mark))
	return after, is && (len(after) == 0 || bytes.ContainsAny(after[:1], " \t\r\n"))
}

// written reports whether a line behind the end of a document is of another one, and no comment or directive.
func written(line []byte) bool {
	text := bytes.TrimSpace(line)
	return len(text) > 0 && text[0] != '#' && text[0] != '%'
}

// splitJSON returns values that follow each other.
func splitJSON(file string, text []byte) ([]document, error) {
	var all []document
	in := json.NewDecoder(bytes.NewReader(text))
	for {
		d := document{file: file, number: len(all) + 1}
		from := in.InputOffset()
		space := len(text[from:]) - len(bytes.TrimLeft(text[from:], " \t\r\n"))
		d.line = 1 + bytes.Count(text[:int(from)+space], []byte("\n"))
		var value json.RawMessage
		switch err := in.Decode(&value); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fault(d.location(), err, "write JSON")
		}
		d.text = value
		all = append(all, d)
	}
}
