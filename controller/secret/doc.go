// Package secret is the loop that removes what is left of secrets whose unit or relation has ended: every hour it
// observes each namespace, lets the domain decide, and applies. Nothing waits for it: what it removes is out of
// reach already.
//
// What must not come in: a decision, or a Kubernetes type.
package secret
