// Package declaration answers the admission of Services, workloads and bare pods: it refuses faults in the object
// alone, warns its author of others, and copies consumer keys to pod templates (INJECTION.md I30).
//
// What must not come in: an API call, and a judgement that depends on other objects:
// those come and go, and the controller reports on them (SAFETY.md I27).
package declaration
