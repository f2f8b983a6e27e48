// Package object holds what every part of the cluster adapter needs of Kubernetes objects: their names
// and revisions, the controllers of pods, which part of an object is cached, the turns of its writers,
// and how an Event is written.
//
// What must not come in: a decision, and any other write.
package object
