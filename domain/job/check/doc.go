// Package check decides when a Workspace is checked, and what the last check found: whether what is there is still as the
// state describes it.
//
// What must not come in: a clock, a Kubernetes type, and what a check does, which is the template's.
package check
