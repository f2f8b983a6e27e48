package controlplane

import (
	"slices"
	"strings"
	"testing"
)

// Snapshot names all objects of the cluster, of every kind, with their UIDs, sorted. It leaves
// out Events, which tell what has happened, and the lease of a node, which the kubelet writes
// some seconds after the node is ready.
func (c *Cluster) Snapshot(t testing.TB) []string {
	t.Helper()
	kinds := strings.Fields(c.Kubectl(t, "api-resources", "--verbs=list", "-o", "name"))
	kinds = slices.DeleteFunc(kinds, func(kind string) bool { return strings.HasPrefix(kind, "events") || kind == "componentstatuses" })
	all := strings.Split(strings.TrimSpace(c.Kubectl(t, "get", strings.Join(kinds, ","), "--all-namespaces", "-o",
		`jsonpath={range .items[*]}{.kind} {.metadata.namespace}/{.metadata.name} {.metadata.uid}{"\n"}{end}`)), "\n")
	all = slices.DeleteFunc(all, func(object string) bool { return strings.HasPrefix(object, "Lease kube-node-lease/") })
	slices.Sort(all)
	return all
}
