package data

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Namespace describes a namespace that an integration runs in.
type Namespace struct {
	// Path is that of its file; it identifies the namespace.
	Path        string
	Name        string
	Cluster     Cluster
	Environment Environment
}

// Cluster is the cluster of a namespace. Its token is never read.
type Cluster struct {
	Name      string `yaml:"name" data:"required"`
	ServerURL string `yaml:"serverUrl"`
}

// Environment is the environment of a namespace.
type Environment struct {
	Name string
	// Parameters are those that templates receive. A value may be of any type.
	Parameters map[string]any
}

// rawNamespace is the part of a namespace that is read: of its own file, or in place
// as a GraphQL source writes it.
type rawNamespace struct {
	Path        string `yaml:"path"`
	Name        string `yaml:"name" data:"required"`
	Cluster     value  `yaml:"cluster" data:"required"`
	Environment value  `yaml:"environment" data:"required"`
}

type rawEnvironment struct {
	Name       string `yaml:"name" data:"required"`
	Parameters value  `yaml:"parameters"`
}

// namespace reads the namespace that an entry names. With problems it has at most its
// path.
func (l library) namespace(v value) (Namespace, []Problem) {
	found, problems := l.find(v, namespaceSchema, leanNamespaceSchema)
	var n Namespace
	if found.document.path != v.document.path {
		n.Path = found.document.path
	}
	if len(problems) > 0 {
		return n, problems
	}
	var raw rawNamespace
	if problems = decode(found, &raw, false); len(problems) > 0 {
		return n, problems
	}
	n.Name = raw.Name
	if n.Path == "" {
		n.Path = raw.Path
	}
	if n.Path == "" {
		return n, found.refuse(`field "path" is missing`, "add the path of the namespace's file")
	}
	cluster, problems := l.find(raw.Cluster, clusterSchema)
	if len(problems) == 0 {
		problems = decode(cluster, &n.Cluster, false)
	}
	environment, more := l.environment(raw.Environment)
	if problems = append(problems, more...); len(problems) > 0 {
		return Namespace{Path: n.Path}, problems
	}
	n.Environment = environment
	return n, nil
}

// environment reads the environment of a namespace.
func (l library) environment(v value) (Environment, []Problem) {
	found, problems := l.find(v, environmentSchema)
	if len(problems) > 0 {
		return Environment{}, problems
	}
	var raw rawEnvironment
	problems = decode(found, &raw, false)
	parameters, more := readParameters(raw.Parameters)
	return Environment{raw.Name, parameters}, append(problems, more...)
}

// readParameters reads a mapping, or the JSON text that GraphQL makes of one.
func readParameters(v value) (map[string]any, []Problem) {
	if v.absent() {
		return nil, nil
	}
	var parameters map[string]any
	var err error
	if v.node.ShortTag() == "!!str" {
		err = json.Unmarshal([]byte(v.node.Value), &parameters)
	} else {
		err = v.node.Decode(&parameters)
	}
	if err != nil {
		return nil, v.refuse("the parameters are not a mapping of names to values", "write NAME: value")
	}
	var problems []Problem
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		if parameters[name] == nil {
			problems = append(problems, v.refuse(fmt.Sprintf("parameter %q has no value", name), `write "" for an empty one, or remove it`)...)
		}
	}
	return parameters, problems
}
