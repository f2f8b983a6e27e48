// Package node serves the agents of RunNodes, and is the executor that has runs carried out by them (JOBS.md J13).
//
//	Server     agents join, renew their certificates, and call for what they are to carry out
//	Callers    the jobs API for the keepers of agents: each node for the runs that were offered to it
//	Dispatcher an attempt becomes an offer to one node, or is the cluster's
//	Survey     what RunNodes show
//
// An offer is stored before its node sees it, and goes when the node has confirmed that nothing is left of the attempt.
//
// What must not come in: a rule about nodes, which are domain/job/node's, and Kubernetes.
package node
