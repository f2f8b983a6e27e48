// Package offer maps an attempt to the wire format of the node API, and back: a node has all that decides how the attempt is
// carried out, as the cluster has it (JOBS.md J13 and J15).
//
// What must not come in: who an offer is for.
package offer
