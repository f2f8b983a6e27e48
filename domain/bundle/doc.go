// Package bundle decides how content becomes a healthy application: what would be
// done, in which order, what waits for what, and which way leads back
// (BUNDLES.md).
//
// What must not come in: a Kubernetes type, a renderer, a network, a file, a clock.
package bundle
