// Package serve serves the jobs API to keepers: claims, renewals, checkpoints, ends, blobs and chunks of logs
// (JOBS-DESIGN.md 2, 3 and 8). Each request may come any number of times, late, and after a restart of the controller.
//
// What an end or a claim does is decided by domain/job/workspace; this package reads, lets it decide, and swaps. The
// store gets, below the fence: the claimant before its claim is stored, archives and chunks as they come, and the record
// of a generation after it is stored.
//
// What must not come in: a Kubernetes type, a rule about locks.
package serve
