// Package conversation holds what one unit hears and says in its relations: the
// events that it is owed, in order, and the writes that it may make
// (RELATIONS.md E, P). It is the pure heart of the agent and of the relations
// API: memory and snapshot in, event out.
//
//	snapshot ─▶ Memory.Observe ─▶ Next ─▶ event ─▶ handler ─▶ Memory.After ─▶ saved
//	                               ▲                  │                         │
//	                               └──────────────────┼─────────────────────────┘
//	                                  Begin, Set ◀────┘───▶ Commit ─▶ changes ─▶ Record
//
// Two things are asked of who makes snapshots. A unit acts on none that is older
// than one that it has acted on (SAFETY.md V4). And a tombstone, or a relation
// that has ended, stays in them until no unit acts on what was before it: who has
// not seen the end would wait for it for ever (SAFETY.md E13).
//
// What must not come in: how snapshots travel, where memory is kept, how handlers
// are run, and what makes relations (that is domain/relation).
package conversation
