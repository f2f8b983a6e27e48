package main

import "gopkg.in/yaml.v3"

// objectsOf returns the object of a document, or those of a List.
func objectsOf(document *yaml.Node) []*yaml.Node {
	if len(document.Content) == 0 {
		return nil
	}
	if items := child(document.Content[0], "items"); items != nil && items.Kind == yaml.SequenceNode {
		return items.Content
	}
	return document.Content
}

// child returns the value of a key of a mapping; nil if there is none.
func child(mapping *yaml.Node, key string) *yaml.Node {
	if i := indexOf(mapping, key); i >= 0 {
		return mapping.Content[i+1]
	}
	return nil
}

// indexOf returns the place of a key in the content of a mapping; -1 if there is none.
func indexOf(mapping *yaml.Node, key string) int {
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return -1
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return i
		}
	}
	return -1
}

func scalar(mapping *yaml.Node, key string) string {
	if node := child(mapping, key); node != nil {
		return node.Value
	}
	return ""
}

// values returns the scalars of a mapping by their keys.
func values(mapping *yaml.Node) map[string]string {
	all := map[string]string{}
	for i := 0; mapping != nil && i+1 < len(mapping.Content); i += 2 {
		all[mapping.Content[i].Value] = mapping.Content[i+1].Value
	}
	return all
}
