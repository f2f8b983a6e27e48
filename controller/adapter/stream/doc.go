// Package stream holds an agent's one conversation with the relations
// controller: a bidirectional Connect stream over HTTP/2 and TLS.
//
//	     ┌── lost ──▶ waiting (exponential back-off, full jitter) ──┐
//	     │                                                          ▼
//	conversing ◀── first snapshot ── greeting ◀── TLS, Hello ── dialling
//	     └── sent away, as by a replica that is behind ─────────────┘
//
// Trust and token are read from their files at every dial, so that a rotation of either needs no further step. Every
// dial is a new connection, so that being sent away leads to another replica.
//
// What must not come in: what a snapshot means; that is the listener's.
package stream
