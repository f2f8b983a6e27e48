// Package kube is the cluster as Orcon's rooms see it: it reads a namespace
// from the informers as domain values, and carries decisions out.
//
// Reads never ask the API server and writes are never read back late: what this
// process wrote is laid over the caches until they have caught up, so that a
// pass never decides twice on the same past.
//
// What must not come in: a decision.
package kube
