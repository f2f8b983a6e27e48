// Package destination decides which servers the bundle controller may fetch from (TRUST.md R4): those
// that a user of a namespace could not reach through it otherwise are refused, unless an administrator
// allows them.
//
// What must not come in: a resolver, a connection, a list of the cluster's networks.
package destination
