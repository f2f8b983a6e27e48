// Package history keeps the commits of databags: who changed which keys, when and why, and what the bag
// was then (SAFETY.md P2).
//
// What must not come in: where a history is stored, and who may read it.
package history
