package registryv1

import (
	"maps"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// The annotations of pods by which an operator learns what it watches, and where it runs. Those that want a variable
// WATCH_NAMESPACE take it from there.
const (
	targetsKey   = "olm.targetNamespaces"
	namespaceKey = "olm.operatorNamespace"
)

// deployments are the operator's workloads.
func (o *operator) deployments(config Config) []bundle.Object {
	var all []bundle.Object
	for _, d := range o.Spec.Install.Spec.Deployments {
		object := made("apps/v1", "Deployment", o.namespace, d.Name, map[string]any{"spec": o.spec(d)})
		if len(d.Labels) > 0 {
			metadata, _ := object["metadata"].(map[string]any)
			metadata["labels"] = anything(d.Labels)
		}
		config.apply(object)
		all = append(all, object)
	}
	return all
}

// spec is a deployment's own, with annotations for its pods and its certificate.
func (o *operator) spec(d deployment) map[string]any {
	spec := maps.Clone(d.Spec)
	template := at(spec, "template")
	metadata := at(template, "metadata")
	annotations := anything(o.Metadata.Annotations)
	maps.Copy(annotations, at(metadata, "annotations"))
	annotations[targetsKey], annotations[namespaceKey] = o.annotation(), o.namespace
	metadata["annotations"] = annotations
	template["metadata"] = metadata
	if o.serves(d.Name) {
		template["spec"] = withCertificate(at(template, "spec"), secretOf(d.Name))
	}
	spec["template"], spec["revisionHistoryLimit"] = template, int64(1)
	return spec
}

// places are where operators look for the certificate of their webhooks, by the volume.
//
//nolint:gochecknoglobals // a table
var places = []struct{ volume, path string }{
	{"webhook-cert", "/tmp/k8s-webhook-server/serving-certs"},
	{"apiservice-cert", "/apiserver.local.config/certificates"},
}

// replaced returns the names of the volumes that are mounted where the certificate goes, and of those that have its name.
func replaced(containers []any) map[any]bool {
	names := map[any]bool{}
	for _, p := range places {
		names[p.volume] = true
	}
	for _, c := range containers {
		container, _ := c.(map[string]any)
		for _, mount := range listed(container["volumeMounts"]) {
			if mount["mountPath"] == places[0].path || mount["mountPath"] == places[1].path {
				names[mount["name"]] = true
			}
		}
	}
	return names
}

// withCertificate mounts a certificate into all containers. A mount at the same path, and its volume, are removed.
func withCertificate(pod map[string]any, secret string) map[string]any {
	containers, _ := pod["containers"].([]any)
	gone := replaced(containers)
	volumes := without(pod["volumes"], func(v map[string]any) bool { return gone[v["name"]] })
	for _, p := range places {
		volumes = append(volumes, map[string]any{"name": p.volume, "secret": map[string]any{
			"secretName": secret,
			"items": []any{
				map[string]any{"key": "tls.crt", "path": keyName(p.volume, "crt")}, map[string]any{"key": "tls.key", "path": keyName(p.volume, "key")},
			},
		}})
	}
	pod["volumes"] = volumes
	all := make([]any, len(containers))
	for i, c := range containers {
		container, _ := c.(map[string]any)
		container = maps.Clone(container)
		mounts := without(container["volumeMounts"], func(m map[string]any) bool { return gone[m["name"]] })
		for _, p := range places {
			mounts = append(mounts, map[string]any{"name": p.volume, "mountPath": p.path})
		}
		container["volumeMounts"] = mounts
		all[i] = container
	}
	pod["containers"] = all
	return pod
}

// keyName returns the name of a certificate's file in a volume.
func keyName(volume, end string) string {
	if volume == "apiservice-cert" {
		return "apiserver." + end
	}
	return "tls." + end
}

// without returns a list without the maps that match.
func without(list any, match func(map[string]any) bool) []any {
	all, _ := list.([]any)
	var kept []any
	for _, item := range all {
		if m, ok := item.(map[string]any); !ok || !match(m) {
			kept = append(kept, item)
		}
	}
	return kept
}

// at returns a copy of the map below a name; a new one where there is none.
func at(in map[string]any, name string) map[string]any {
	below, _ := in[name].(map[string]any)
	if below == nil {
		return map[string]any{}
	}
	return maps.Clone(below)
}

func anything(texts map[string]string) map[string]any {
	all := map[string]any{}
	for key, text := range texts {
		all[key] = text
	}
	return all
}
