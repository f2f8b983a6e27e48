package bundle

import (
	"cmp"
	"regexp"
)

// references are the fields of a pod by which it names other objects, and their kinds.
//
//nolint:gochecknoglobals // a table
var references = map[string]string{
	"configMap": "ConfigMap", "configMapRef": "ConfigMap", "configMapKeyRef": "ConfigMap",
	"secret": "Secret", "secretRef": "Secret", "secretKeyRef": "Secret", "imagePullSecrets": "Secret",
	"persistentVolumeClaim": "PersistentVolumeClaim",
}

// host matches what may be the name of a Service in a text: the text before it, name, namespace, domain and port.
var host = regexp.MustCompile(`(//|@|^|[\s=,"'])([a-z][a-z0-9-]*)(?:\.([a-z0-9-]+))?(\.svc[a-z0-9.-]*)?(:[0-9]+)?`)

// named adds edges from a Job to all of the bundle that it names.
func (g *graph) named(job int) {
	names := func(kind, namespace, name string) {
		if to, there := g.places[ID{Kind: kind, Namespace: namespace, Name: name}]; there {
			g.edge(job, to, "the Job names it")
		}
	}
	namespace := g.items[job].ID.Namespace
	walk(g.items[job].Object.At("spec", "template", "spec"), "", func(field string, value any) {
		switch v := value.(type) {
		case string:
			switch field {
			case "serviceAccountName":
				names("ServiceAccount", namespace, v)
			case "command", "args", "value":
				addresses(v, func(in, service string) { names("Service", cmp.Or(in, namespace), service) })
			}
		case map[string]any:
			if kind, known := references[field]; known {
				o := Object(v)
				names(kind, namespace, cmp.Or(o.Text("name"), o.Text("secretName"), o.Text("claimName")))
			}
		}
	})
}

// addresses calls found for each address in a text: in a URL, with a port, with its
// domain, or alone. A mere word is none.
func addresses(text string, found func(namespace, service string)) {
	for _, m := range host.FindAllStringSubmatch(text, -1) {
		if m[1] == "//" || m[1] == "@" || m[4] != "" || m[5] != "" || m[0] == text {
			found(m[3], m[2])
		}
	}
}

// walk visits all that lies below a value, with the name of the field that it is of; an
// element of a list is of the list's.
func walk(at any, field string, visit func(field string, value any)) {
	visit(field, at)
	switch v := at.(type) {
	case []any:
		for _, e := range v {
			walk(e, field, visit)
		}
	case map[string]any:
		for name, e := range v {
			walk(e, name, visit)
		}
	}
}
