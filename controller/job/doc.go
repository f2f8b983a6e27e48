// Package job is the loop that keeps JobWorkspaces and their JobRuns: it freezes the input of new Runs, gives the lock to
// the next one, has it carried out, and derives what Runs show (JOBS.md, JOBS-DESIGN.md 1 to 8, 11 and 12).
//
// One request is one JobWorkspace. A reconcile does what can be done at once, in this order, and each step may be the
// last one before the process dies:
//
//	check     a schedule                 → the Run of a check that is due
//	freeze    a new Run                  → its input, which never changes
//	end       what the Workspace records → the end of a Run
//	hold      the Run with the lock      → started, replaced, withdrawn, lost or expired
//	admit     the next Run               → the lock, by one conditional write
//	clear     a Run that has ended       → what carried it out is removed
//	leave     a deleted Workspace        → its run is stopped, everything is destroyed if asked, and it goes
//	publish   all of this                → statuses and Events
//	prune     old Runs                   → deleted; the store keeps what they were
//
// What must not come in: a rule about locks, which are domain/job's, and how attempts are carried out, which is the
// executor's.
package job
