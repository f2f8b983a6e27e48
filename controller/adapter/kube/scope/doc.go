// Package scope bounds the caches of the controller: of kinds that any namespace has, they keep the objects of
// participating namespaces (TRUST.md U7). A namespace participates while it has opted in, or holds an object of Orcon or a
// pod with an agent.
//
// What must not come in: a decision about what a namespace holds.
package scope
