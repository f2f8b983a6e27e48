package agent

import (
	"strconv"
	"sync"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/tool"
)

// turn is a turn that a handler has.
type turn struct {
	tool.Turn
	// context names it; tools that a handler runs carry the name.
	context string
	secrets secrets
	answers answers
	// era is the number of resets before it.
	era int
	// tools is held by the one tool of the handler that runs.
	tools sync.Mutex
}

// Turn is an event as the runner of handlers receives it.
type Turn struct {
	// Context is the value that Done must name.
	Context string
	// Hook is the name of the executable, as Juju names hooks.
	Hook string
	// Env holds the handler's variables besides the runner's own.
	Env map[string]string
}

// Done reports how a turn has ended.
type Done struct {
	Context string
	// Handled is set where there was a handler for the event.
	Handled bool
	// Failure is why it was not handled; empty if it was, or where there is no handler.
	Failure string
}

func (t *turn) told(namespace string) Turn {
	env := tool.Environment(t.Snapshot.Unit, t.Event)
	env[tool.ContextID] = t.context
	env["JUJU_MODEL_NAME"] = namespace
	env["ORCON_ATTEMPT"] = strconv.Itoa(t.Attempt)
	return Turn{Context: t.context, Hook: tool.Hook(t.Event), Env: env}
}

// notification returns the event in its form over HTTP.
func (t *turn) notification(namespace string) tool.Notification {
	n := tool.Notify(t.Snapshot.Unit, t.Event)
	n.Context, n.Model, n.Attempt = t.context, namespace, t.Attempt
	return n
}
