// Package schema has a JSON Schema (draft 2020-12) for each kind of data file of a fleet, for editors and for the
// pages about the data. Package data reads them without these schemas; its tests compare the two.
//
// Fields that a chart adds to a spec are allowed here and not described: the chart's own schema has them
// (FLEET.md D2).
//
// What must not come in: a check of data.
package schema
