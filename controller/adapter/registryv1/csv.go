package registryv1

import (
	"encoding/json"
	"errors"
	"fmt"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// csv is the part of a ClusterServiceVersion that is read.
type csv struct {
	Metadata struct {
		Name        string            `json:"name"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		InstallModes []struct {
			Type      mode `json:"type"`
			Supported bool `json:"supported"`
		} `json:"installModes"`
		Install struct {
			Strategy string `json:"strategy"`
			Spec     struct {
				Deployments        []deployment `json:"deployments"`
				Permissions        []permission `json:"permissions"`
				ClusterPermissions []permission `json:"clusterPermissions"`
			} `json:"spec"`
		} `json:"install"`
		Definitions struct {
			Owned []owned `json:"owned"`
		} `json:"customresourcedefinitions"`
		APIServices struct {
			Owned []any `json:"owned"`
		} `json:"apiservicedefinitions"`
		Webhooks []webhook `json:"webhookdefinitions"`
	} `json:"spec"`
}

// owned is a definition that a bundle says it brings along.
type owned struct {
	Name string `json:"name"`
}

// deployment is one of the operator's own workloads.
type deployment struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"label"`
	// Spec is all of it, as it was written.
	Spec map[string]any `json:"-"`
}

// permission lists the rules of one service account.
type permission struct {
	Account string `json:"serviceAccountName"`
	Rules   []any  `json:"rules"`
}

// operator is a bundle that was taken apart.
type operator struct {
	csv
	definitions, others []bundle.Object
	// namespace is where the operator runs; targets are the namespaces that it watches, "" all.
	namespace string
	targets   []string
}

// take sorts the objects of a bundle.
func take(objects []bundle.Object) (operator, error) {
	var o operator
	found := 0
	for _, object := range objects {
		switch id := object.ID(); id.Kind {
		case "ClusterServiceVersion":
			found++
			if err := o.read(object); err != nil {
				return o, fmt.Errorf("cannot read %s: %w", id, err)
			}
		case "CustomResourceDefinition":
			o.definitions = append(o.definitions, object)
		default:
			o.others = append(o.others, object)
		}
	}
	if found != 1 {
		return o, fmt.Errorf("cannot use the bundle: manifests/ has %d ClusterServiceVersions: it must have exactly one", found)
	}
	if o.Spec.Install.Strategy != "deployment" {
		return o, fmt.Errorf("cannot use the bundle: install strategy %q is not deployment", o.Spec.Install.Strategy)
	}
	if len(o.Spec.APIServices.Owned) > 0 {
		return o, errors.New("cannot use the bundle: owned apiservicedefinitions are not supported")
	}
	return o, nil
}

// read reads the version. Parts that are passed on stay as they were written.
func (c *csv) read(object bundle.Object) error {
	text, err := object.Canonical()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, c); err != nil {
		return err
	}
	for i, raw := range listed(object.At("spec", "install", "spec", "deployments")) {
		spec, ok := raw["spec"].(map[string]any)
		if !ok {
			return fmt.Errorf("deployment %q has no spec", c.Spec.Install.Spec.Deployments[i].Name)
		}
		c.Spec.Install.Spec.Deployments[i].Spec = spec
	}
	for i, raw := range listed(object.At("spec", "webhookdefinitions")) {
		c.Spec.Webhooks[i].raw = raw
	}
	return nil
}

// listed returns the maps of a list that was read as a list of maps.
func listed(list any) []map[string]any {
	all, _ := list.([]any)
	maps := make([]map[string]any, len(all))
	for i, item := range all {
		maps[i], _ = item.(map[string]any)
	}
	return maps
}
