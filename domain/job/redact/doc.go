// Package redact replaces the values of secrets in the output of a run, before it leaves the run (JOBS.md J14).
//
// It finds a value as it is, and as JSON, URLs and base64 write it, also within a longer text in base64; of a value of
// several lines, such as a private key, also each line of 8 bytes or more. It does not find a value that a program has
// changed in another way, nor one of less than [Shortest] bytes, which too many texts have by chance.
//
// What must not come in: where values come from, and where texts go.
package redact
