// Package content fetches sources, unpacks them and lays trees over each other, and has processes of their own do that and
// render. A person at a command line and a loop in the cluster get the same bytes. A failure changes nothing.
//
// What must not come in: how a tree is rendered, an order of objects, a plan, a write to a cluster.
package content
