package bundle_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// groups are those of the kinds that these tests use.
//
//nolint:gochecknoglobals // a table
var groups = map[string]string{
	"Deployment": "apps/v1", "StatefulSet": "apps/v1", "DaemonSet": "apps/v1", "Job": "batch/v1", "CustomResourceDefinition": "apiextensions.k8s.io/v1",
	"ValidatingWebhookConfiguration": "admissionregistration.k8s.io/v1", "Engine": "race.example.org/v1", "Ingress": "networking.k8s.io/v1",
	"APIService": "apiregistration.k8s.io/v1", "HorizontalPodAutoscaler": "autoscaling/v2", "Role": "rbac.authorization.k8s.io/v1",
}

// object makes one: "Kind name", annotations as "key=value", and all else by parts.
func object(named string, parts ...any) bundle.Object {
	kind, name, _ := strings.Cut(named, " ")
	version := groups[kind]
	if version == "" {
		version = "v1"
	}
	metadata := map[string]any{"name": name, "namespace": "shop"}
	if kind == "Namespace" || kind == "CustomResourceDefinition" || kind == "ValidatingWebhookConfiguration" || kind == "APIService" {
		delete(metadata, "namespace")
	}
	o := bundle.Object{"apiVersion": version, "kind": kind, "metadata": metadata}
	notes := map[string]any{}
	for _, part := range parts {
		switch p := part.(type) {
		case string:
			key, value, _ := strings.Cut(p, "=")
			notes["orcon.tengu.io/"+key] = value
			metadata["annotations"] = notes
		case map[string]any:
			maps.Copy(o, p)
		}
	}
	return o
}

// engine defines the kind Engine.
func engine() bundle.Object {
	return object("CustomResourceDefinition engines.race.example.org",
		map[string]any{"spec": map[string]any{"group": "race.example.org", "names": map[string]any{"kind": "Engine"}}})
}

// job is one whose container runs a command.
func job(name, command string, notes ...any) bundle.Object {
	container := map[string]any{"name": "run", "image": "busybox", "command": []any{"sh", "-c", command}}
	spec := map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{container}}}}
	return object("Job "+name, append(notes, map[string]any{"spec": spec})...)
}

func order(t require.TestingT, objects ...bundle.Object) bundle.Sequence {
	s, err := bundle.Order(objects)
	require.NoError(t, err)
	return s
}

// id is what an object made by object is called.
func id(named string) bundle.ID { return object(named).ID() }

// names are the kinds and names of a sequence, as their author knows them.
func names(s bundle.Sequence) []string {
	var all []string
	for _, item := range s {
		all = append(all, item.Origin.Kind+" "+item.Origin.Name)
	}
	return all
}

// find returns the item of a name.
func find(t *testing.T, s bundle.Sequence, named string) bundle.Item {
	t.Helper()
	for _, item := range s {
		if item.Origin == id(named) {
			return item
		}
	}
	require.Fail(t, "no item", named)
	return bundle.Item{}
}
