// Package blob is the port to stores of immutable blobs: archives of states, chunks of logs, plans
// (JOBS-DESIGN.md 8). Its parts are adapters of one technology each, which blobtest proves to be alike.
//
// What must not come in: what a blob means, and when it may be deleted.
package blob
