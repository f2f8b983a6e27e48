// Package executor is the port through which the controller has attempts of Runs carried out: by Jobs of the cluster, by
// containers of a node, by processes.
//
// An executor decides nothing. Its pod claims the attempt at the jobs API before the process starts (JOBS.md J10), so
// that one too many is harmless.
//
// What must not come in: a Kubernetes type, a rule about locks.
package executor
