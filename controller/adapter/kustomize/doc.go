// Package kustomize builds kustomizations from the files of a tree alone: no file of the
// machine, no variable of its environment, no network, no program.
//
// What must not come in: a source, another renderer.
package kustomize
