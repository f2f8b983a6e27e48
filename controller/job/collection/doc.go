// Package collection deletes from the store what nothing needs any more: archives, logs, and what Workspaces left that
// have been gone for long (JOBS-DESIGN.md 8 and 12, JOBS.md J5, J11 and J18).
//
// The store is listed first and the Workspaces after it, so that one whose blobs are there and whose object is not is gone.
// Each Workspace is read again from the API server before anything of it is deleted. A collection that dies at any step
// has deleted only what the next one would.
//
// What must not come in: a rule about what may be deleted, which is domain/job/retention's.
package collection
