package main

import (
	"gopkg.in/yaml.v3"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

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

// annotationsOf returns the metadata that holds the declaration of an object: that of its pod
// template where only that one declares something.
func annotationsOf(object, metadata *yaml.Node) *yaml.Node {
	template := child(child(child(object, "spec"), "template"), "metadata")
	if declares(template) && !declares(metadata) {
		return template
	}
	return metadata
}

func declares(metadata *yaml.Node) bool {
	for key := range values(child(metadata, "annotations")) {
		if application.Declares(key) {
			return true
		}
	}
	return false
}

// child returns the value of a key of a mapping; nil if there is none.
func child(mapping *yaml.Node, key string) *yaml.Node {
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
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
