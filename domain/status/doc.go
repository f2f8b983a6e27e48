// Package status holds what a workload says of how it is, in Juju's words, and what
// its handlers fail at: values for people, with what is too long, unknown or not
// fit to be shown.
//
// What must not come in: consequences of a status (there are none: programs read bags), who may set it, where it is
// kept.
package status
