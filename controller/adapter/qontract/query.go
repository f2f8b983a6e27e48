package qontract

import (
	"fmt"
	"slices"
	"strings"
)

// object is an object of the published schema that is asked for.
type object struct {
	// field is the name of the object in its parent; "" for a case.
	field string
	// kind is its type; "" for one that has the same fields in all schemas.
	kind string
	// names are the fields that have no fields, separated by spaces.
	names   string
	objects []object
	// cases are the types that the object may have beside its own.
	cases []object
	// strict asks for all that the type has in the server's schema, so that reading the data refuses what it does not
	// know, instead of running the integration without it.
	strict bool
}

// root is a list of all objects of a schema.
type root struct {
	object

	schema string
}

// roots lists what is asked for: what domain/fleet/data reads. Tokens are not among it.
func roots() []root {
	disable := object{field: "disable", names: "integrations"}
	return []root{
		{object{
			field: "integrations_v1", kind: "Integration_v1", names: "path name description upstream labels", objects: []object{managed()},
		}, "/app-sre/integration-1.yml"},
		{object{field: "awsaccounts_v1", kind: "AWSAccount_v1", names: "path name", objects: []object{disable}}, "/aws/account-1.yml"},
		{object{
			field: "clusters_v1", kind: "Cluster_v1", names: "path name serverUrl", objects: []object{disable},
		}, "/openshift/cluster-1.yml"},
		{object{
			field: "ocm_instances_v1", kind: "OpenShiftClusterManager_v1", names: "path name orgId",
		}, "/openshift/openshift-cluster-manager-1.yml"},
	}
}

// managed is an entry of an integration, with its namespace in place.
func managed() object {
	return object{field: "managed", kind: "IntegrationManaged_v1", strict: true, objects: []object{
		{field: "namespace", names: "path name", objects: []object{
			{field: "cluster", names: "name serverUrl"},
			{field: "environment", names: "name parameters"},
		}},
		{field: "spec", kind: "IntegrationSpec_v1", strict: true, objects: []object{
			resources("resources"), resources("fluentdResources"),
			{field: "extraEnv", kind: "IntegrationSpecExtraEnv_v1", strict: true},
			{field: "logs", kind: "IntegrationSpecLogs_v1", strict: true},
		}},
		{field: "sharding", names: "strategy", cases: []object{
			{kind: "StaticSharding_v1", strict: true},
			overridden("AWSAccountSharding_v1", object{kind: "AWSAccountShardSpecOverride_v1"}, "name"),
			overridden("OpenshiftClusterSharding_v1", object{kind: "OpenshiftClusterShardSpecOverride_v1", objects: []object{
				{field: "subSharding", names: "strategy", cases: []object{{kind: "StaticSubSharding_v1", strict: true}}},
			}}, "name"),
			overridden("OCMOrganizationSharding_v1", object{kind: "OCMOrganizationShardSpecOverride_v1"}, "name orgId"),
		}},
	}}
}

func resources(field string) object {
	return object{field: field, objects: []object{{field: "requests", names: "cpu memory"}, {field: "limits", names: "cpu memory"}}}
}

// overridden is a way to shard whose shards can be overridden. names are the fields of a shard.
func overridden(kind string, override object, names string) object {
	override.field, override.strict = "shardSpecOverrides", true
	override.objects = append(override.objects, object{field: "shard", names: names}, resources("resources"))
	return object{kind: kind, strict: true, objects: []object{override}}
}

// schema holds the fields of types, and which of them have fields themselves.
type schema map[string]map[string]bool

// described is a field of a type, as a server describes it.
type described struct {
	Name string
	Type wrapped
}

// wrapped is the type of a field: a list, or one that is never null, wraps another.
type wrapped struct {
	Kind   string
	OfType *wrapped
}

// add adds the fields of a type.
func (s schema) add(kind string, fields []described) {
	s[kind] = map[string]bool{}
	for _, f := range fields {
		t := f.Type
		for t.OfType != nil {
			t = *t.OfType
		}
		s[kind][f.Name] = t.Kind != "SCALAR" && t.Kind != "ENUM"
	}
}

// has reports whether a type has a field, as far as the type is known.
func (s schema) has(kind, name string) bool {
	fields, known := s[kind]
	_, found := fields[name]
	return found || !known
}

// selection returns the text that asks for an object.
func (o object) selection(s schema) string {
	var parts, asked []string
	for name := range strings.FieldsSeq(o.names) {
		if asked = append(asked, name); s.has(o.kind, name) {
			parts = append(parts, name)
		}
	}
	for _, below := range o.objects {
		if asked = append(asked, below.field); s.has(o.kind, below.field) {
			parts = append(parts, below.field+" "+below.selection(s))
		}
	}
	for _, c := range o.cases {
		if _, known := s[c.kind]; known {
			parts = append(parts, "... on "+c.kind+" "+c.selection(s))
		}
	}
	if o.strict {
		parts = append(parts, s.others(o.kind, asked)...)
	}
	if len(parts) == 0 {
		parts = []string{"__typename"}
	}
	return "{" + strings.Join(parts, " ") + "}"
}

// others asks for the fields of a type that are not among those asked for.
func (s schema) others(kind string, asked []string) []string {
	var all []string
	for name, object := range s[kind] {
		switch {
		case slices.Contains(asked, name):
		case object:
			all = append(all, name+" {__typename}")
		default:
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// kinds returns the types that are asked for. The query for the fields of each has its index in its alias.
func kinds() []string {
	all := []string{"Query"}
	var walk func(objects []object)
	walk = func(objects []object) {
		for _, o := range objects {
			if o.kind != "" {
				all = append(all, o.kind)
			}
			walk(o.objects)
			walk(o.cases)
		}
	}
	for _, r := range roots() {
		walk([]object{r.object})
	}
	return all
}

// introspection returns the query for the fields of types.
func introspection() string {
	var text strings.Builder
	for i, kind := range kinds() {
		fmt.Fprintf(&text, "t%d: __type(name: %q) {...f} ", i, kind)
	}
	return "{" + text.String() + "} fragment f on __Type {fields(includeDeprecated: true) {name type {" +
		"kind ofType {kind ofType {kind ofType {kind}}}}}}"
}
