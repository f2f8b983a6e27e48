// Package contents keeps contents of templates in the store of runs, by their namespace and digest: those that persons
// pushed, and those that are copied into a container (JOBS.md J16).
//
// What must not come in: who may push, what is built from a content, and when one may be deleted.
package contents
