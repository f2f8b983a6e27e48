// Package run decides about one execution: whether it may start, what it is doing, and what it was frozen to.
//
//	Queue     Runs of a Workspace that have not ended → which one is next, which wait, which end at once
//	Derive    a Run, its pod and its Workspace → its status
//	Undo      the input of the last Run → that of a destroy run
//	EndOf     a Workspace that is deleted → destroy, wait, or let go
//
// Statuses are derived: the Workspace is the truth (JOBS.md J3). An end that a status shows is final.
//
// What must not come in: a Kubernetes type, a clock, a log.
package run
