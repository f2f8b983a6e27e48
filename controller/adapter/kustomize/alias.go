package kustomize

import (
	"bytes"
	"fmt"

	"gopkg.in/yaml.v3"
)

// maxValues is how many values the documents of a file may have when their aliases are expanded, which the library does
// without a bound.
const maxValues = 400_000

// bounded refuses a file whose aliases expand to too much, or contain themselves. Invalid YAML is left to the library's
// errors.
func bounded(text []byte) error {
	if !bytes.ContainsRune(text, '*') {
		return nil
	}
	in := yaml.NewDecoder(bytes.NewReader(text))
	c := counting{sizes: map[*yaml.Node]int{}}
	total := 0
	for {
		var document yaml.Node
		if in.Decode(&document) != nil {
			return nil //nolint:nilerr // as said
		}
		size, err := c.size(&document)
		if err != nil {
			return err
		}
		if total += size; total > maxValues {
			return fmt.Errorf("line %d: its aliases expand to more than %d values: write out what they stand for, or split the file", c.line,
				maxValues)
		}
	}
}

// counting counts the values of nodes, each once.
type counting struct {
	// sizes have the values of nodes; of one that is being counted they are none.
	sizes map[*yaml.Node]int
	// line is that of the last alias, most its size.
	line, most int
}

// size returns how many values a node has with its aliases expanded, at most one more than are allowed.
func (c *counting) size(node *yaml.Node) (int, error) {
	if size, known := c.sizes[node]; known {
		if size == 0 {
			return 0, fmt.Errorf("line %d: anchor %q contains itself: write out what its alias stands for", node.Line, node.Anchor)
		}
		return size, nil
	}
	c.sizes[node] = 0
	size := 1
	below := node.Content
	if node.Kind == yaml.AliasNode {
		below, size = []*yaml.Node{node.Alias}, 0
	}
	for _, one := range below {
		more, err := c.size(one)
		if err != nil {
			return 0, err
		}
		size = min(size+more, maxValues+1)
	}
	if node.Kind == yaml.AliasNode && size > c.most {
		c.line, c.most = node.Line, size
	}
	c.sizes[node] = size
	return size, nil
}
