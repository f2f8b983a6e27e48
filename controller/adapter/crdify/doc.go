// Package crdify judges upgrades of definitions with the library of that name: whether
// objects that are stored would lose data, or be valid no more (BUNDLES.md 11).
//
// It compares two definitions, and looks at no object: a value that is not allowed any more counts, whether an object
// has it or not. Changes that it has no rule for are let through, such as those of patterns, formats and rules in
// CEL.
//
// What must not come in: a cluster, a decision about what becomes of the definition.
package crdify
