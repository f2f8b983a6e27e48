// Package redaction knows the values of the secrets of a run, by the folder that has them, so that none of them leaves with
// its output (JOBS.md J14).
//
// What must not come in: the forms of a value, which are domain/job/redact's.
package redaction
