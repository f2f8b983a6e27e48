package agent

import (
	"cmp"
	"strconv"
	"sync"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/tool"
)

// turn is one event that a handler is about, and what the handler has said so
// far.
type turn struct {
	// context names it; tools that a handler runs carry the name.
	context     string
	event       conversation.Event
	snapshot    conversation.Snapshot
	transaction *conversation.Transaction
	membership  conversation.Membership
	secrets     secrets
	// tools is held by the one tool of the handler that runs.
	tools sync.Mutex
	// attempt counts from 1.
	attempt int
}

// Turn is what the runner of handlers is told of an event.
type Turn struct {
	// Context is what Done must name.
	Context string
	// Hook is the name of the executable, as Juju names hooks.
	Hook string
	// Env is what the handler gets besides the runner's own.
	Env map[string]string
}

// Done is what is said of a turn when it has ended.
type Done struct {
	Context string
	// Handled is set where there was a handler for the event.
	Handled bool
	// Failure is why it was not handled; empty if it was, or where there is no handler.
	Failure string
}

func (t *turn) told(namespace string) Turn {
	env := tool.Environment(t.snapshot.Unit, t.event)
	env[tool.ContextID] = t.context
	env["JUJU_MODEL_NAME"] = namespace
	env["ORCON_ATTEMPT"] = strconv.Itoa(t.attempt)
	return Turn{Context: t.context, Hook: tool.Hook(t.event), Env: env}
}

// notification is the event as it is told over HTTP.
func (t *turn) notification(namespace string) tool.Notification {
	n := tool.Notify(t.snapshot.Unit, t.event)
	n.Context, n.Model, n.Attempt = t.context, namespace, t.attempt
	return n
}

// describe names a turn for people.
func (t *turn) describe() string {
	e := t.event
	about := cmp.Or(e.Application, e.Secret, t.snapshot.Unit.Application)
	if e.Unit != nil {
		about = e.Unit.String()
	}
	return tool.Hook(e) + " (" + about + ")"
}
