// Package collection deletes unused blobs from the store: archives, logs, and the states of Workspaces that were
// deleted long ago (JOBS-DESIGN.md 8 and 12, JOBS.md J5, J11 and J18).
//
// The store is listed before the Workspaces: a Workspace with blobs and without an object was deleted. Each Workspace
// is read again from the API server before its blobs are deleted. A collection that dies at any step has deleted only
// what the next one would delete.
//
// What must not come in: a rule about the deletion of blobs, which belongs to domain/job/retention.
package collection
