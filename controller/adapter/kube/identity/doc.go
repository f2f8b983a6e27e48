// Package identity has the API server review the tokens of agents, and finds their pods in the caches.
//
// What must not come in: what a pod may do.
package identity
