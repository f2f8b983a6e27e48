// Package networks knows the networks of a cluster: those of its Services, pods and nodes.
//
// What must not come in: what may be reached in them, which domain/destination decides.
package networks
