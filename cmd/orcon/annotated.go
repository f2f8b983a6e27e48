package main

import (
	"maps"
	"strings"

	"gopkg.in/yaml.v3"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// annotated is one object of a manifest.
type annotated struct {
	kind, name string
	// metadata is its own, template that of its pod template; nil if it has none.
	metadata, template *yaml.Node
}

// String returns KIND/NAME.
func (o *annotated) String() string { return o.kind + "/" + o.name }

// templateOf returns the metadata of the pod template of an object; nil if it has none.
func templateOf(object *yaml.Node) *yaml.Node {
	spec := child(object, "spec")
	if job := child(child(spec, "jobTemplate"), "spec"); job != nil {
		spec = job
	}
	if metadata := child(child(spec, "template"), "metadata"); metadata != nil && metadata.Kind == yaml.MappingNode {
		return metadata
	}
	return nil
}

// holder returns the metadata that holds an annotation, or where it is added: that of the pod
// template, whose annotations win (INJECTION.md I30), if it has the annotation, or if only it
// declares something. What the webhook copied there is not the author's.
func (o *annotated) holder(key string) *yaml.Node {
	own, written := values(child(o.metadata, "annotations")), authored(o.template)
	_, above := own[key]
	_, below := written[key]
	if below || !above && declares(written) && !declares(own) {
		return o.template
	}
	return o.metadata
}

// declared returns the annotations that the object has in effect.
func (o *annotated) declared() map[string]string {
	all := values(child(o.metadata, "annotations"))
	maps.Copy(all, authored(o.template))
	return all
}

// authored returns the annotations of a pod template without those that the webhook copied.
func authored(template *yaml.Node) map[string]string {
	all := values(child(template, "annotations"))
	for copied := range strings.SplitSeq(all[application.KeyCopied], ",") {
		key, _, _ := strings.Cut(copied, "@")
		delete(all, strings.TrimSpace(key))
	}
	return all
}

func declares(annotations map[string]string) bool {
	for key := range annotations {
		if application.Declares(key) {
			return true
		}
	}
	return false
}
