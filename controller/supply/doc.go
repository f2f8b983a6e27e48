// Package supply has the contents of deployments fetched and rendered: in child processes, a few at a time,
// fairly between namespaces.
//
// What must not come in: what contents mean, or a cluster.
package supply
