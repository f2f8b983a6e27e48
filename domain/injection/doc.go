// Package injection decides what an admitted pod gets, and says it as values:
// which variables a consumer's containers have, whether a pod is injected or
// why not, and the operations that only add to it.
//
// The webhook, the agent and the offline command all ask this package, so that
// what one promises the other keeps. It reads the few fields of a pod that the
// decision needs and never writes a pod back: fields newer than this program
// stay as they are (INJECTION.md I2).
//
// What must not come in: anything that knows Kubernetes' types or clients, a
// clock, a file or the network; and anything about other objects than the pod
// and its namespace's labels (SAFETY.md I21).
package injection
