// Package library holds probes of kinds that the generic rule of package health misjudges, or knows nothing of
// (CONTENT.md H4): a file GROUP/Kind.yaml for each, whose expressions an adapter compiles. The cases that show
// them right are those of package health.
package library
