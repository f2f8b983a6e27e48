// Package keeper keeps the state of one run: it claims the run, restores the state, lets the shim start the template,
// renews its hold, stores checkpoints, and captures and commits the state however the template ends
// (JOBS.md J9, JOBS-DESIGN.md 1 to 7). It alone holds the run's credential.
//
//	claim -> restore -> start -> (renew, checkpoint)* -> capture -> upload -> end -> outcome
//
// Each step can be done again: a keeper that is restarted goes on where the last one was.
//
// What must not come in: who may hold a lock and what a commit does, which is the ledger's.
package keeper
