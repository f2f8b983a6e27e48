// Package bundle carries out what domain/bundle decides: it looks at the cluster, asks
// what is next, writes that, and looks again, until the bundle is healthy, has failed and
// come back, or time is up (BUNDLES.md). A person's command and a loop in the cluster run
// the same engine.
//
// It remembers nothing that is not stored: killed between any two writes, the next
// run goes on where this one was (BUNDLES.md 8).
//
// What must not come in: a Kubernetes type, a decision about objects, words for a terminal.
package bundle
