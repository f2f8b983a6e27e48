// Package declaration answers the admission of Services and workloads: it
// refuses what is wrong in the object alone, warns of what its author should
// know, and copies consumer keys to pod templates (INJECTION.md I30).
//
// What must not come in: an API call, and a judgement that depends on other
// objects: those come and go, and are the controller's to tell (SAFETY.md I27).
package declaration
