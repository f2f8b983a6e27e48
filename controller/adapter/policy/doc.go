// Package policy lets people say in CEL which plans are allowed, and when objects of their
// own kinds are healthy.
//
// An expression sees one thing, the plan or the object, and nothing else: no cluster, no
// clock. It has a limit of length and of work; what exceeds that, or cannot be evaluated,
// allows nothing.
//
// What must not come in: a file, a cluster, a decision about refused objects.
package policy
