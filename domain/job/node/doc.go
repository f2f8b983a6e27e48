// Package node decides about RunNodes: machines elsewhere that dial out and carry out runs (JOBS.md J13).
//
//	Mint     a person with the permission  → a token, good once, for 15 minutes and one name
//	Join     a token, a key                → a node that is known by its key; a person adopts the key
//	Permit   a key, its certificate        → whether a call is answered
//	Renew    a key                         → a certificate for a day, also within 30 days after the last one
//	Choose   a target, the nodes           → the node to which an attempt is offered, or why there is none
//	Silent   an offer, its node            → whether another node gets the attempt
//
// What must not come in: a Kubernetes type, a clock, a certificate, a network.
package node
