// Package budget bounds what units store and request, so that the excess of a unit, an application or a namespace is its own
// (TRUST.md U1, U3).
//
//	Ledger   who has written how much + a cost + the time → taken, or which budget lacks it and for how long
//	Caps     what an application and its namespace hold + what a transaction adds → accepted, or which cap refuses it
//
// Each budget is a token bucket: a rate and a burst of commits and of bytes. Each namespace that writes still has an equal
// part of the cluster's rate after its budget is used up.
//
// What must not come in: a clock, locks, how bytes are counted.
package budget
