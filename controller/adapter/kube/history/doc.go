// Package history reads from a cluster what was written in a relation, and how it came.
//
// What must not come in: a write.
package history
