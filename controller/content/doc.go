// Package content turns sources into the objects that they mean: it fetches, unpacks,
// lays trees over each other and renders. Whoever asks, a person at a command line or a
// loop in the cluster, gets the same bytes. Nothing that fails changes anything.
//
// What must not come in: an order of objects, a plan, a write to a cluster.
package content
