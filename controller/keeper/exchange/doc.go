// Package exchange is the folder by which the keeper and the shim of a run know of each other (JOBS-DESIGN.md 1). Each
// file but one is written once, and appears whole; so either can be restarted.
//
//	start     keeper   the state is restored: the entrypoint may start
//	started   shim     it is about to start, and is never started again
//	stop      keeper   SIGTERM now, SIGKILL after the grace
//	ended     shim     no process of the template is left
//	outcome   keeper   the state is safe, or nothing can be done: the shim may exit
//	renewed   keeper   when the last renewal was sent that was acknowledged; replaced by each
//	shim.lock, keeper.lock   held by each while it lives
//	backend.sock       Terraform's state, where keeper and shim do not share a network
//	output/            the standard output and error, in segments
//
// What must not come in: a network, and decisions.
package exchange
