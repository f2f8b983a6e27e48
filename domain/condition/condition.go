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
	// Stalled says that a person must act: Ready does not become true before, or a part does not
	// work although Ready is true.
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
	// AgentFailed names a container that Orcon added to a pod and that does not run, and why.
	AgentFailed Type = "AgentFailed"
	// LeftOut names objects that declare something and are ignored: another has the name, or their application is not
	// clear (SAFETY.md A1).
	LeftOut Type = "LeftOut"
	// GateCycle names applications that wait for each other (SAFETY.md I17).
	GateCycle Type = "GateCycle"
	// EnvRefused names keys that cannot be environment variables
	// (SAFETY.md P8, P9).
	EnvRefused Type = "EnvRefused"
	// FilesRefused names keys that cannot be files (SAFETY.md W1).
	FilesRefused Type = "FilesRefused"
	// StaleRefused names what keeps pods from starting with a copy of their data while Orcon is away, although their
	// author allows it (TRUST.md A1).
	StaleRefused Type = "StaleRefused"
	// GrantRefused names Secrets that an application would grant, and the consent that
	// is missing (SAFETY.md S1).
	GrantRefused Type = "GrantRefused"
	// AgentOutdated names pods whose agent is too old to receive their data (TRUST.md A6).
	AgentOutdated Type = "AgentOutdated"
	// HandlerFailed names units whose handlers fail, and at what (RELATIONS.md L3).
	HandlerFailed Type = "HandlerFailed"
	// EndsOwed names relations whose end an application owes to its handlers (TRUST.md T2).
	EndsOwed Type = "EndsOwed"
	// EndsHeld names relations whose end waits for a person, since too many ended at once (TRUST.md T4).
	EndsHeld Type = "EndsHeld"
	// WritesLimited names units whose writes are put off, and whose budget is used up (TRUST.md U1).
	WritesLimited Type = "WritesLimited"
	// CommitRefused names units whose transaction the API server refuses, or that was dropped, and why (TRUST.md T10).
	CommitRefused Type = "CommitRefused"
	// ApplicationStatus is the status that an application's workload reports.
	ApplicationStatus Type = "ApplicationStatus"
	// RequirerStatus and ProviderStatus are the statuses that the sides of a relation report (RELATIONS.md L3).
	RequirerStatus Type = "RequirerStatus"
	ProviderStatus Type = "ProviderStatus"
	// SchemaViolated names fields of bags that do not fit their interface
	// (RELATIONS.md, Interfaces).
	SchemaViolated Type = "SchemaViolated"
	// Drifted says that what runs have made differs from the state that describes it (JOBS-DESIGN.md 17).
	Drifted Type = "Drifted"
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

// needPerson are the conditions that are a problem while they are true, and that do not pass
// before a person acts.
//
//nolint:gochecknoglobals // a table
var needPerson = []Type{
	Suspended, NotInjected, AgentOutdated, LeftOut, GateCycle, EnvRefused, FilesRefused, GrantRefused, SchemaViolated, EndsHeld,
	CommitRefused, Drifted,
}

// passing are those that may pass by themselves.
//
//nolint:gochecknoglobals // a table
var passing = []Type{Held, RestartsPaused, HandlerFailed, AgentFailed, EndsOwed, WritesLimited}

// NeedsAttention reports whether a condition that is true is a problem that Ready may not show: the
// rest may work.
func NeedsAttention(t Type) bool {
	return slices.Contains(needPerson, t) || slices.Contains(passing, t)
}

// With returns conditions with further ones beside them. Stalled is true where one of
// these needs a person (SAFETY.md C1), although Ready may be true.
func With(conditions []Condition, others ...Condition) []Condition {
	all := slices.Concat(conditions, others)
	first := slices.IndexFunc(others, func(c Condition) bool { return c.True && slices.Contains(needPerson, c.Type) })
	stalled := slices.IndexFunc(all, func(c Condition) bool { return c.Type == Stalled })
	if first >= 0 && !all[stalled].True {
		all[stalled] = New(Stalled, true, string(others[first].Type), "see condition "+string(others[first].Type))
	}
	return all
}

// Find returns the condition of type t.
func Find(conditions []Condition, t Type) (Condition, bool) {
	i := slices.IndexFunc(conditions, func(c Condition) bool { return c.Type == t })
	if i < 0 {
		return Condition{}, false
	}
	return conditions[i], true
}

// Settled returns Ready, with Reconciling and Stalled false.
func Settled(reason, message string) []Condition {
	return []Condition{New(Ready, true, reason, message), New(Reconciling, false, reason, atRest), New(Stalled, false, reason, unneeded)}
}

// Waiting returns that a thing is not Ready, but may become so without a person.
func Waiting(reason, message string) []Condition {
	return []Condition{New(Ready, false, reason, Cell(message)), New(Reconciling, true, reason, message),
		New(Stalled, false, reason, hopeful)}
}

// Stuck returns that a thing is not Ready until a person acts.
func Stuck(reason, message string) []Condition {
	return []Condition{New(Ready, false, reason, Cell(message)), New(Reconciling, false, reason, blocked), New(Stalled, true, reason, message)}
}

// Blocked reports whether nothing works, nor happens by itself, before a person acts.
func Blocked(conditions []Condition) bool {
	reconciling, _ := Find(conditions, Reconciling)
	ready, _ := Find(conditions, Ready)
	stalled, _ := Find(conditions, Stalled)
	return stalled.True && !ready.True && !reconciling.True
}

// The messages of Reconciling and Stalled while they are false.
const (
	atRest   = "nothing is under way"
	blocked  = "nothing happens before a person acts"
	unneeded = "nothing needs a person's action"
	hopeful  = "it may become ready without a person"
)

// Why returns the condition Ready with the whole of its message, which Reconciling, or else
// Stalled, carries while Ready is false. A reference to the condition that is the reason is
// replaced by the message of that condition.
func Why(conditions []Condition) Condition {
	ready, _ := Find(conditions, Ready)
	for _, t := range []Type{Stalled, Reconciling} {
		if c, there := Find(conditions, t); there && c.True && !ready.True {
			ready.Message = c.Message
		}
	}
	before, named, found := strings.Cut(ready.Message, "see condition ")
	named, after, _ := strings.Cut(named, ";")
	if c, there := Find(conditions, Type(named)); found && there && !ready.True {
		ready.Message = before + c.Message
		if after != "" {
			ready.Message += ";" + after
		}
	}
	return ready
}

// maxCell is how many characters of a message a table shows.
const maxCell = 80

// Cell returns what a table shows of a message: all of it if it is short, else as many
// clauses as fit, or as many words where the first clause is long.
func Cell(message string) string {
	runes := []rune(message)
	if len(runes) <= maxCell {
		return message
	}
	head := string(runes[:maxCell-1])
	end := max(strings.LastIndex(head, ": "), strings.LastIndex(head, "; "))
	if end < len(head)/2 {
		end = strings.LastIndex(head, " ")
	}
	if end <= 0 {
		end = len(head)
	}
	return strings.TrimRight(head[:end], " ,") + "…"
}

// New returns a condition whose message is one line, and cut to MaxMessage.
func New(t Type, is bool, reason, message string) Condition {
	return Condition{Type: t, True: is, Reason: reason, Message: Cut(Line(message), MaxMessage)}
}
