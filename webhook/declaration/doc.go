// Package declaration answers the admission of Services, workloads and bare pods: it
// refuses what is wrong in the object alone, warns of what its author should know, and
// copies consumer keys to pod templates (INJECTION.md I30).
//
// What must not come in: an API call, and a judgement that depends on other objects:
// those come and go, and the controller reports on them (SAFETY.md I27).
package declaration
