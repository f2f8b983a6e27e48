// Package content turns sources into objects: it fetches, unpacks, lays trees over each other and renders. A person
// at a command line and a loop in the cluster get the same bytes. A failure changes nothing.
//
// What must not come in: an order of objects, a plan, a write to a cluster.
package content
