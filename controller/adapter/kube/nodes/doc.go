// Package nodes stores what controller/job/node needs in the cluster: RunNodes, the authority by which nodes and controller
// know each other, and offers, which are Leases of Orcon's own namespace: editors of a Run's namespace may write the Leases
// there.
//
// What must not come in: a decision about a node, and a certificate.
package nodes
