// Package bundle decides how content becomes a healthy application: what would be
// done, in which order, what waits for what, and which way leads back
// (BUNDLES.md).
//
// The caller makes five calls, and carries out between them what they return:
//
//	Order    rendered objects → a Sequence: phases, edges, names of Jobs
//	NewPlan  Sequence + what is live + Record → a Plan: sorted actions, holds, conflicts, Digest
//	Approve  Plan + mode + Approvals → yes, or what is missing
//	Step     Plan + what is live → what to write now, what waits for what, done or failed
//	Prune    Plan + what is live → what left the bundle and goes now, after the success
//
// A Record is stored between them: revisions, inventory, Jobs that ran. Each of its methods returns the next Record,
// which is stored in one write before anything else is done; so a process killed between any two writes goes on from
// the stored one (BUNDLES.md 8). A caller repeats:
//
//	Proposed → NewPlan again, Plan.Changed, Approve → Record.Activate
//	Active   → Step: Delete, Apply, Record.Complete → Record.Succeed or Record.Fail
//	Failed   → Record.WayBack, NewPlan of Sequence.Back → Record.Return
//	Succeeded → Prune: Delete → Record.Drop; then Correct, which puts right what others change
//
// What must not come in: a Kubernetes type, a renderer, a network, a file, a clock.
package bundle
