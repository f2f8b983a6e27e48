// Package application holds what an application is: its name, the endpoints that it
// declares, its units, and how the objects of a namespace declare them.
//
// An application is a workload with its Services, or a Service without pods (SAFETY.md A1). An object declares text
// in its annotations and labels; this package turns that text into values, or into problems that name the key, the
// entry, the reason and the cure.
//
// What must not come in: anything that knows Kubernetes, a clock, a file or
// the network; and whether two endpoints fit, which is package relation's.
package application
