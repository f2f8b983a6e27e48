// Package chaos holds the parts of the chaos suite that its forms share: the plan of faults, the count of those that were
// seen, the network that is cut, and the journal that judges what writers and readers report. test/integration has the
// form on a control plane. The form with nodes and a database is missing.
//
// What must not come in: anything of Orcon. The journal judges it.
package chaos
