// Package logs reads the logs of a run from the store, while it goes on and long after (JOBS.md J11): its streams, and
// each of them in order, with what is missing stated.
//
// What must not come in: who may read, and how a request for a log is answered.
package logs
