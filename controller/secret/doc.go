// Package secret is the loop that removes what is left of secrets when what they
// lived with has ended: now and then it observes each namespace, lets the domain
// decide, and applies. Nothing waits for it: what it removes nobody can read.
//
// What must not come in: a decision, or a Kubernetes type.
package secret
