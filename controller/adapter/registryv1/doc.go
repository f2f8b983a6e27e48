// Package registryv1 makes plain objects of a registry+v1 bundle, which an operator
// catalogue has: what a lifecycle manager would do while it installs, written down before.
//
// What must not come in: a catalogue, a cluster, a certificate's key.
package registryv1
