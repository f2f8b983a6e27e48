// Package condition holds what Orcon says of the state of a thing: a type, a
// truth, a reason for programs and one sentence for people.
//
// What must not come in: a clock (a message must not change while the problem
// is the same) and anything that knows Kubernetes.
package condition

import (
	"slices"
	"strings"
)

// Type names a condition.
type Type string

// The conditions (SAFETY.md C1). Every kind has the first three.
const (
	// Ready says that the thing does what it is for.
	Ready Type = "Ready"
	// Reconciling says that something may still happen by itself.
	Reconciling Type = "Reconciling"
	// Stalled says that a person must act.
	Stalled Type = "Stalled"
	// Held says that a declaration has vanished and its relation waits for it
	// (SAFETY.md L5).
	Held Type = "Held"
	// Suspended names relations of other namespaces that no Offer covers any more
	// (RELATIONS.md M6).
	Suspended Type = "Suspended"
	// RestartsPaused says that changes came too fast to restart for each
	// (SAFETY.md L8).
	RestartsPaused Type = "RestartsPaused"
	// NotInjected names pods that should have an agent and have none
	// (INJECTION.md I1).
	NotInjected Type = "NotInjected"
	// LeftOut names objects that declare something and take no part: another has
	// the name, or it is not clear of which application they are (SAFETY.md A1).
	LeftOut Type = "LeftOut"
	// GateCycle names applications that wait for each other (SAFETY.md I17).
	GateCycle Type = "GateCycle"
	// EnvRefused names keys that cannot be environment variables
	// (SAFETY.md P8, P9).
	EnvRefused Type = "EnvRefused"
	// FilesRefused names keys that cannot be files (SAFETY.md W1).
	FilesRefused Type = "FilesRefused"
	// GrantRefused names Secrets that an application would grant, and the consent that
	// is missing (SAFETY.md S1).
	GrantRefused Type = "GrantRefused"
	// HandlerFailed names units whose handlers fail, and at what (RELATIONS.md L3).
	HandlerFailed Type = "HandlerFailed"
	// ApplicationStatus is what an application's workload says of how it is.
	ApplicationStatus Type = "ApplicationStatus"
	// RequirerStatus and ProviderStatus are what the sides of a relation say of how
	// they are in it (RELATIONS.md L3).
	RequirerStatus Type = "RequirerStatus"
	ProviderStatus Type = "ProviderStatus"
	// SchemaViolated names fields of bags that do not fit their interface
	// (RELATIONS.md, Interfaces).
	SchemaViolated Type = "SchemaViolated"
	// Incompatible says that an interface breaks what an older version of it
	// promised.
	Incompatible Type = "Incompatible"
)

// Condition is one statement.
type Condition struct {
	Type   Type
	True   bool
	Reason string
	// Message is one sentence that a person can act on.
	Message string
}

// Find returns the condition of type t.
func Find(conditions []Condition, t Type) (Condition, bool) {
	i := slices.IndexFunc(conditions, func(c Condition) bool { return c.Type == t })
	if i < 0 {
		return Condition{}, false
	}
	return conditions[i], true
}

// Settled is Ready, neither Reconciling nor Stalled.
func Settled(reason, message string) []Condition { return three(reason, message, true, false, false) }

// Waiting is not Ready, but may become so by itself.
func Waiting(reason, message string) []Condition { return three(reason, message, false, true, false) }

// Stuck is not Ready until a person acts.
func Stuck(reason, message string) []Condition { return three(reason, message, false, false, true) }

// maxMessage is the longest message in bytes: the API refuses more than 32 KiB,
// and nobody reads as much.
const maxMessage = 4096

// New returns a condition with its message no longer than anybody reads.
func New(t Type, is bool, reason, message string) Condition {
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage-len("…")], "") + "…"
	}
	return Condition{Type: t, True: is, Reason: reason, Message: message}
}

func three(reason, message string, ready, reconciling, stalled bool) []Condition {
	return []Condition{New(Ready, ready, reason, message), New(Reconciling, reconciling, reason, message), New(Stalled, stalled, reason, message)}
}
