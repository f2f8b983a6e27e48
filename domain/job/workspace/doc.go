// Package workspace decides about the one object that holds the truth of stateful runs: a Workspace's lock, its state, and
// the end of its last hold (JOBS.md J3).
//
// A Workspace is a value. Each method returns the next one, which the caller stores in one conditional write, or an
// error that wraps one of the sentinels and names the holder, since when, and the command that helps:
//
//	Acquire    a queued Run            → the lock, with a new fence          controller
//	Claim      a pod or node           → the right to start the process      jobs API
//	Save       a checkpoint            → kept beside the generations         jobs API
//	End        the captured state      → pointer, lock and last end at once  jobs API
//	Replace    a pod that never began  → the next attempt, with a new fence  controller
//	Withdraw   a Run that never began  → its end                             controller
//	Lose       silence                 → NeedsRecovery                       controller
//	Expire     longer silence          → released, if not exclusive          controller
//	Decide     a person's choice       → the way on
//	Rollback, AcceptStore              → by persons too
//
// A message that comes late, twice or out of order finds its fence past or its effect done: the first is ErrStale,
// the second the same answer without a change (JOBS.md J8).
//
// What must not come in: a Kubernetes type, a store, a clock. What the store holds is an argument (Extent).
package workspace
