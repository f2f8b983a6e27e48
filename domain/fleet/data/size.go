package data

import (
	"bytes"
	"fmt"

	"gopkg.in/yaml.v3"
)

// What is parsed of data is bounded: the controller that reads them serves all namespaces (TRUST.md U6). A value is a map, a
// list or a scalar; aliases count as what they stand for.
const (
	// maxValues is how many values a file may have.
	maxValues = 100_000
	// maxParsed is how many values all files that are parsed may have.
	maxParsed = 2_000_000
)

// atMost returns how many values a text has at most, before it is parsed: a character comes before each but the first.
func atMost(text []byte) int {
	count := 1
	for _, mark := range []string{",", ":", "\n", "\r", "[", "{", "- ", "-\t", "? ", "?\t"} {
		count += bytes.Count(text, []byte(mark))
	}
	return count
}

// crowded describes a file that has too many values.
func (d document) crowded() Problem {
	return Problem{Location{File: d.path}, fmt.Sprintf("the file has more than %d values", maxValues), "split it"}
}

// sizes are the values of nodes with their aliases expanded; that of a node which is being counted is beyond every bound, as
// it contains itself.
type sizes map[*yaml.Node]int

// of returns how many values a node has, at most one more than a file may have.
func (s sizes) of(node *yaml.Node) int {
	if size, known := s[node]; known {
		return size
	}
	s[node] = maxValues + 1
	size := 1
	below := node.Content
	if node.Kind == yaml.AliasNode {
		below = []*yaml.Node{node.Alias}
	}
	for _, one := range below {
		size = min(size+s.of(one), maxValues+1)
	}
	s[node] = size
	return size
}
