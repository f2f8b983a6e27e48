// Package removal takes Orcon out of a cluster with the rights of a person: it reads what is there, ends relations,
// deletes what is installed, and lets go of objects that wait for a controller that is gone (TRUST.md T1).
//
// What must not come in: what a controller does while Orcon stays.
package removal
