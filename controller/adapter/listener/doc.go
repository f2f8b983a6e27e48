// Package listener serves the relations API to many agents, and bounds what callers can make it hold (TRUST.md U3).
//
//	accepted ──▶ stranger ── Prove ──▶ pod
//	               │                    │
//	               └── too many, too late, or gone ──▶ closed
//
// A connection is a stranger's until a request on it has proven which pod calls.
//
// What must not come in: how a caller proves what it is.
package listener
