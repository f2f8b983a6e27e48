// Package conformance compares what was found of the runner contract with what it promises (JOBS.md J15, JOBS-DESIGN.md
// 20). The golden report is the same for each executor.
//
// What must not come in: how a check is made.
package conformance
