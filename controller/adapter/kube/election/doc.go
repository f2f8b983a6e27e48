// Package election has one replica of the controller run its loops. A process that ended is replaced within seconds, a
// node that cannot be reached when its Lease has expired (TRUST.md A2).
//
// For a moment two replicas may lead, as with every lease: each write of a loop must be conditional, or to a name that
// its decision determines.
//
// What must not come in: what the loops do.
package election
