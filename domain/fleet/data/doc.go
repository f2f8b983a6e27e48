// Package data reads the files that declare a fleet: integrations, and the
// namespaces, clusters, environments, AWS accounts and OCM organisations that they
// refer to (FLEET.md D1, D2).
//
// The formats are those of qontract-schemas and a compatibility contract. A file is
// known by its `$schema`; others are never parsed. An integration's file is read
// strictly, since a misspelt field would silently run with a default; of other files
// the fields used are checked and the rest is ignored.
//
// One bad file stops only what depends on it: an Integration or an Entry that cannot
// be trusted lists in Held the problems that stop it.
//
// What must not come in: where files come from, which of the entries a set deploys,
// what a chart makes of them.
package data
