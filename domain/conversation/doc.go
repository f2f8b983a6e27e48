// Package conversation holds what one unit hears and says in its relations: the
// events that it is owed, in order, and the writes that it may make
// (RELATIONS.md E, P). It is the pure heart of the agent and of the relations
// API: memory and snapshot in, event out.
//
// What must not come in: how snapshots travel, where memory is kept, how handlers
// are run, and what makes relations (that is domain/relation).
package conversation
