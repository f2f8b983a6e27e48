// Package scan reads JSON once, front to back, stepping over what its caller
// does not ask for.
//
// It exists for the webhook's speed target: of a pod's admission request the
// webhook needs a tenth, and encoding/json looks at every byte twice. What is
// read is read as encoding/json reads it (a fuzz test compares the two); what
// is stepped over is checked for its brackets and quotes only.
//
// What must not come in: knowledge of any object.
package scan
