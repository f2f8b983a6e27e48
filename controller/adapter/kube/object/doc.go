// Package object holds what every part of the cluster adapter needs of Kubernetes objects: their names
// and revisions, the controllers of pods, and which part of an object is cached.
//
// What must not come in: a write, and a decision.
package object
