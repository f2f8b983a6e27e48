// Package retention decides which archives, chunks of logs and Runs of a Workspace may be deleted.
//
// What must not come in: the deletion itself, a clock, a store.
package retention
