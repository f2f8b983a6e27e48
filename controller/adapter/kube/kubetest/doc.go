// Package kubetest has the readers and servers that the unit tests of the cluster adapter use. Tests in
// test/integration show the same against a real API server.
//
// What must not come in: what only one test needs.
package kubetest
