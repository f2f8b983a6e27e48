// Package approval is the loop that has approved plans applied: it judges each JobApproval by domain/job/approval, makes the
// JobRun that applies the plan, and publishes what the approval came to (JOBS.md J17). The JobRun is judged again, by
// controller/job, when it is frozen and when it gets the lock.
//
// What must not come in: a rule about plans, and who may approve, which are permissions of the cluster.
package approval
