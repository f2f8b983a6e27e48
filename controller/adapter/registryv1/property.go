package registryv1

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/yaml"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// propertiesKey is the annotation by which an operator learns the properties of its bundle.
const propertiesKey = "olm.properties"

// Property is something that a bundle states about itself.
type Property struct {
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

// Properties returns those of metadata/properties.yaml, which a bundle need not have.
func Properties(tree *bundle.Tree) ([]Property, error) {
	const name = "metadata/properties.yaml"
	f, _ := tree.File(name)
	var read struct {
		Properties []Property `json:"properties"`
	}
	if err := yaml.Unmarshal(f.Content, &read); err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", name, err)
	}
	for i, p := range read.Properties {
		if p.Type == "" {
			return nil, fmt.Errorf("cannot use the bundle: properties[%d] of %s has no type: add it", i, name)
		}
	}
	return read.Properties, nil
}

// stated returns annotations with properties added to those that they have.
func stated(annotations map[string]string, properties []Property) (map[string]string, error) {
	if len(properties) == 0 {
		return annotations, nil
	}
	var own []Property
	if text := annotations[propertiesKey]; text != "" {
		if err := json.Unmarshal([]byte(text), &own); err != nil {
			return nil, fmt.Errorf("cannot read annotation %s of the ClusterServiceVersion: %w: write a list of properties in JSON", propertiesKey, err)
		}
	}
	text, err := json.Marshal(slices.Concat(own, properties))
	if err != nil {
		return nil, fmt.Errorf("cannot write the properties: %w", err)
	}
	all := map[string]string{}
	maps.Copy(all, annotations)
	all[propertiesKey] = string(text)
	return all, nil
}
