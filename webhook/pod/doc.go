// Package pod answers the admission of pods: what each gets, or why it gets
// nothing. It is a plain HTTP handler, since a typed decode of the pod costs
// more than everything else that happens here.
//
// What must not come in: an API call, a cache of other objects (SAFETY.md
// I21), and decisions, which are domain/injection's.
package pod
