// Package interfaces keeps the interfaces that are published in a cluster, judges them, and writes their
// status.
//
// What must not come in: what a bag holds, and whether it fits.
package interfaces
