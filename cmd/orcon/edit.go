package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// joined returns a list with an entry at its end. An entry for the same endpoint or provider is an
// error, unless it is the same.
func joined(a addition, list string) (string, error) {
	if list == "" {
		return a.entry, nil
	}
	name := func(entry string) string {
		if end := strings.IndexAny(entry, ":=?!@"); end >= 0 {
			return entry[:end]
		}
		return entry
	}
	for entry := range strings.SplitSeq(list, ",") {
		switch entry = strings.TrimSpace(entry); {
		case entry == a.entry:
			return list, nil
		case entry != "" && name(entry) == name(a.entry) && (a.key != application.KeyRelations || strings.Contains(entry, "=")):
			return "", fmt.Errorf("%s has the entry %s already: change it by hand, or use another --endpoint", a.key, entry)
		}
	}
	return list + "," + a.entry, nil
}

// edited returns the text with another value of an annotation. A new one comes first in the
// annotations, and new annotations after the first field of the metadata.
func (m *annotatedFile) edited(metadata *yaml.Node, key, value string) string {
	annotations := child(metadata, "annotations")
	fresh := key + ": " + strconv.Quote(value)
	switch {
	case child(annotations, key) != nil:
		m.replace(child(annotations, key), value)
	case annotations != nil && annotations.Style&yaml.FlowStyle != 0:
		m.insertInBraces(annotations, strconv.Quote(key)+": "+strconv.Quote(value))
	case annotations != nil && len(annotations.Content) > 0:
		m.insert(annotations.Content[0], []string{fresh})
	case annotations != nil:
		m.insertBelow(metadata.Content[indexOf(metadata, "annotations")], fresh)
	case metadata.Style&yaml.FlowStyle != 0:
		m.insertInBraces(metadata, fmt.Sprintf(`"annotations": {%q: %q}`, key, value))
	default:
		m.insert(metadata.Content[0], []string{"annotations:", "  " + fresh})
	}
	return strings.Join(m.lines, "")
}

// insert writes lines before the line of a node, with its indentation.
func (m *annotatedFile) insert(before *yaml.Node, texts []string) {
	line := m.lines[before.Line-1]
	column := bytesBefore(line, before.Column)
	indent, end := strings.Repeat(" ", before.Column-1), "\n"
	if strings.HasSuffix(line, "\r\n") {
		end = "\r\n"
	}
	var inserted []string
	for i, text := range texts {
		if i == 0 && strings.TrimSpace(line[:column]) != "" { // it follows a dash
			inserted = append(inserted, line[:column]+text+end)
			m.lines[before.Line-1] = indent + line[column:]
			continue
		}
		inserted = append(inserted, indent+text+end)
	}
	m.lines = slices.Insert(m.lines, before.Line-1, inserted...)
}

// insertBelow writes a line below that of a key, further in.
func (m *annotatedFile) insertBelow(key *yaml.Node, text string) {
	line := strings.TrimRight(m.lines[key.Line-1], "\r\n")
	end := m.lines[key.Line-1][len(line):]
	if end == "" { // the last line of the file
		m.lines[key.Line-1] = line + "\n"
	}
	m.lines = slices.Insert(m.lines, key.Line, strings.Repeat(" ", key.Column+1)+text+cmp.Or(end, "\n"))
}

// insertInBraces writes a field at the beginning of a mapping in braces.
func (m *annotatedFile) insertInBraces(mapping *yaml.Node, text string) {
	if len(mapping.Content) > 0 {
		text += ", "
	}
	line := m.lines[mapping.Line-1]
	inside := bytesBefore(line, mapping.Column+1)
	m.lines[mapping.Line-1] = line[:inside] + text + line[inside:]
}

// replace writes another value for a scalar of one line; of any other it writes nothing, which the
// check of the result finds.
func (m *annotatedFile) replace(node *yaml.Node, value string) {
	line := m.lines[node.Line-1]
	column := bytesBefore(line, node.Column)
	rest := line[column:]
	for _, written := range []string{node.Value, strconv.Quote(node.Value), "'" + strings.ReplaceAll(node.Value, "'", "''") + "'"} {
		if after, is := strings.CutPrefix(rest, written); is {
			m.lines[node.Line-1] = line[:column] + strconv.Quote(value) + after
			return
		}
	}
}

// bytesBefore returns how many bytes of a line are before a column, which counts characters from 1.
func bytesBefore(line string, column int) int {
	for i := range line {
		if column--; column == 0 {
			return i
		}
	}
	return len(line)
}
