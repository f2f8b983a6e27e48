// Package cluster is a Kubernetes cluster as a bundle sees it: objects of any kind, what
// applying would change in them and whose that is, and how they are. It also keeps what
// is stored about a deployment, in Secrets beside its objects.
//
// It reads from the API server itself, one object by its name: what a cache of labelled
// objects does not show is there all the same (BUNDLES.md 5). It writes with the field
// manager orcon alone, creates what is not there and nothing else, and touches what is
// there only at the version that was looked at (BUNDLES.md 2).
//
// What must not come in: a decision about what is written, when, and in which order.
package cluster
