// Package transaction is the commit protocol: which requests store a transaction of a unit whole or
// not at all (SAFETY.md E11), in which order, and on which conditions (P1).
//
//	Prepare   a Commit + what is stored → the Commit without what changes nothing, or why it is refused
//	Next      a prepared Commit + what is stored → the next Request; none when it is stored
//	Earlier   a Commit + the application's units → the outboxes that are delivered before it
//	Laid      a Commit in an outbox + what is stored → the bags as views show them
//	Deliver   the outbox of any unit + what is stored → the next Request; none when it is empty
//
// An executor carries out one Request at a time, notes the result in Stored, and asks again. Each
// write is conditional on the object being as the executor last saw it; after a conflict the executor
// forgets the object. A transaction of one bag, or of one secret, is that object's write. Each write of a larger one is
// tried; then it is written to the unit's outbox, which is its commit point, and delivered, secrets first.
//
// What must not come in: an API, a clock, retries and their pauses.
package transaction
