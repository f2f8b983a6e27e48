package registryv1

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"sigs.k8s.io/yaml"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Renderer names what renders, with its version: another may render otherwise.
const Renderer = "registry+v1 2"

// Options say how an operator is installed.
type Options struct {
	// Namespace is where it runs.
	Namespace string
	// Watch are the namespaces that it is for; none is all of them, or its own where it
	// supports no more.
	Watch []string
	// Properties are those of the bundle's metadata.
	Properties []Property
	// Config customizes its deployments.
	Config Config
}

// Manifests returns the part of a bundle that holds manifests, after a check that this package reads its metadata and
// that it requires nothing that a bundle cannot have.
func Manifests(tree *bundle.Tree) (bundle.Tree, error) {
	f, ok := tree.File("metadata/annotations.yaml")
	if !ok {
		return bundle.Tree{}, errors.New("cannot find metadata/annotations.yaml: a registry+v1 bundle has it beside manifests/")
	}
	var metadata struct {
		Annotations map[string]string `json:"annotations"`
	}
	if err := yaml.Unmarshal(f.Content, &metadata); err != nil {
		return bundle.Tree{}, fmt.Errorf("cannot read metadata/annotations.yaml: %w", err)
	}
	const prefix = "operators.operatorframework.io.bundle."
	if kind := metadata.Annotations[prefix+"mediatype.v1"]; kind != "registry+v1" {
		return bundle.Tree{}, fmt.Errorf("cannot use the bundle: %smediatype.v1 is %q, not registry+v1", prefix, kind)
	}
	if metadata.Annotations[prefix+"package.v1"] == "" {
		return bundle.Tree{}, fmt.Errorf("cannot use the bundle: metadata/annotations.yaml has no %spackage.v1", prefix)
	}
	if err := independent(tree); err != nil {
		return bundle.Tree{}, err
	}
	return flat(tree.Sub("manifests"))
}

// flat refuses folders below manifests/.
func flat(manifests bundle.Tree, err error) (bundle.Tree, error) {
	for _, name := range manifests.Paths() {
		if strings.Contains(name, "/") {
			return bundle.Tree{}, fmt.Errorf("cannot use the bundle: manifests/%s lies in a folder below manifests/, which a registry+v1 "+
				"bundle may not have: move it to manifests/", name)
		}
	}
	return manifests, err
}

// independent refuses a bundle that wants others to be installed with it.
func independent(tree *bundle.Tree) error {
	f, ok := tree.File("metadata/dependencies.yaml")
	if !ok {
		return nil
	}
	var wanted struct {
		Dependencies []struct {
			Type string `json:"type"`
		} `json:"dependencies"`
	}
	if err := yaml.Unmarshal(f.Content, &wanted); err != nil {
		return fmt.Errorf("cannot read metadata/dependencies.yaml: %w", err)
	}
	for _, d := range wanted.Dependencies {
		return fmt.Errorf("cannot meet the dependency of type %q in metadata/dependencies.yaml: Orcon does not resolve dependencies: "+
			"install that bundle separately, and remove the file", d.Type)
	}
	return nil
}

// Convert returns the plain objects of a bundle's manifests. All violations of rules are returned at once, and then
// there are no objects.
func Convert(manifests []bundle.Object, options Options) ([]bundle.Object, error) {
	o, err := take(manifests)
	if err != nil {
		return nil, err
	}
	if err := o.aim(options.Namespace, options.Watch); err != nil {
		return nil, err
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.Metadata.Annotations, err = stated(o.Metadata.Annotations, options.Properties); err != nil {
		return nil, err
	}
	all := o.accounts()
	all = append(all, o.permissions()...)
	all = append(all, o.converted()...)
	all = append(all, o.placed()...)
	all = append(all, o.certificates()...)
	all = append(all, o.services()...)
	all = append(all, o.deployments(options.Config)...)
	return append(all, o.webhooks()...), nil
}

// supported are the kinds that a bundle may have besides, and whether they live in a
// namespace.
//
//nolint:gochecknoglobals // a table
var supported = map[string]bool{
	"ConfigMap": true, "Secret": true, "Service": true, "ServiceAccount": true, "Role": true, "RoleBinding": true,
	"PodDisruptionBudget": true, "NetworkPolicy": true, "PrometheusRule": true, "ServiceMonitor": true, "PodMonitor": true, "VerticalPodAutoscaler": true,
	"ClusterRole": false, "ClusterRoleBinding": false, "PriorityClass": false,
	"ConsoleCLIDownload": false, "ConsoleLink": false, "ConsolePlugin": false, "ConsoleQuickStart": false, "ConsoleYAMLSample": false,
}

// placed are the other objects, in the namespace where the operator runs.
func (o *operator) placed() []bundle.Object {
	var all []bundle.Object
	for _, object := range o.others {
		if supported[object.ID().Kind] {
			metadata, _ := object["metadata"].(map[string]any)
			metadata = maps.Clone(metadata)
			metadata["namespace"] = o.namespace
			object = maps.Clone(object)
			object["metadata"] = metadata
		}
		all = append(all, object)
	}
	return all
}

// made returns a new object; namespace is empty for one of the whole cluster.
func made(apiVersion, kind, namespace, name string, fields map[string]any) bundle.Object {
	metadata := map[string]any{"name": name}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	o := bundle.Object{"apiVersion": apiVersion, "kind": kind, "metadata": metadata}
	maps.Copy(o, fields)
	return o
}
