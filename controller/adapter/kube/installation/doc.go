// Package installation looks at what is installed of Orcon in a cluster: whether the cluster can be
// served, whether each part works, and which version it is. It writes nothing.
//
// What must not come in: what a controller does for relations.
package installation
