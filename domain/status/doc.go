// Package status holds what a workload says of how it is, in Juju's words, and what
// its handlers fail at: values for people, with what is too long, unknown or not
// fit to be shown.
//
// What must not come in: what follows from a status (nothing does: programs are
// told things in bags), who may set it, where it is kept.
package status
