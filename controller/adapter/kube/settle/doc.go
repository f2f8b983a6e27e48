// Package settle observes a namespace and carries out what was decided for it. It reads from the caches, and
// lays over them what this process wrote until they have caught up, so that no pass decides twice on the
// same past.
//
// What must not come in: a decision.
package settle
