// Package evidence reads what the store has about the holds of a Workspace beside its states: who claimed a fence, and how
// far the store reaches (JOBS-DESIGN.md 8 and 11, JOBS.md J20).
//
// What must not come in: decisions about them, which are domain/job/workspace's.
package evidence
