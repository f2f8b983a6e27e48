// Package chaos holds the parts of the chaos suite that its forms share: the plan of faults, the count of those that were
// seen, the network that is cut, and the journal that judges what writers and readers report. test/integration has the
// forms on a control plane, test/e2e that of pods, and test/e2e/docker that of machines elsewhere.
//
// What must not come in: anything of Orcon. The journal judges it.
package chaos
