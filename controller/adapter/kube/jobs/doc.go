// Package jobs gives the jobs API what it needs of the cluster: JobWorkspaces and JobRuns as they are stored, the pods
// that call, and renewals as Leases.
//
// Caches only tell the name of an object by its UID, and the safety of a template; everything that a decision about a
// lock rests on is read from the API server itself.
//
// What must not come in: a decision about a run.
package jobs
