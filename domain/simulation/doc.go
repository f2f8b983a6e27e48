// Package simulation plays a scenario: a namespace in memory, in which things
// happen in the order that a file says and are compared with what it expects.
//
//	steps ─▶ objects ─▶ application.Gather ─▶ negotiation.Negotiate ─▶ store
//	                                                                  │
//	handlers, tools ◀─ conversation.Next ◀─ delivery ◀─ relation.Look ┘
//	      └──────── conversation.Transaction ────▶ commit ─▶ store
//
// It has no rule of its own: what relates, who hears what, who may write and how a
// tool answers is decided by the code that decides it in a cluster. What it has are
// the places between: a store that gives UIDs and keeps what was decided, a delivery
// that can be held back, agents and a controller that can die, and a clock that the
// file moves.
//
// What must not come in: rules; anything real: files, a network, a process, a
// clock, Kubernetes.
package simulation
