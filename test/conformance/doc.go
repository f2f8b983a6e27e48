// Package conformance checks that runs are carried out as the runner contract promises (JOBS.md J15, JOBS-DESIGN.md 20).
// A small program looks at its container from within; a driver runs it in several ways by an executor and looks at what
// comes back. The report must be the same for each executor.
//
// What must not come in: an executor, and what it needs.
package conformance
