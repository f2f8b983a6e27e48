// Package plain reads the objects of manifests, as kubectl reads them: YAML and JSON,
// several documents in a file, lists of objects.
//
// What must not come in: a source, a template, a cluster.
package plain
