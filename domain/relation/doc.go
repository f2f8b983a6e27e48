// Package relation has the words of relations: their ends, their state, what is said in
// them, and what one look at a namespace may decide.
//
// What must not come in: a rule that decides, which belongs to package negotiation, and
// anything that knows Kubernetes, a clock, a file or the network.
package relation
