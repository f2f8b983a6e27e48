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

// Done is what the runner says of a turn.
type Done struct {
	Context string
	// ExitCode of the handler; 0 also where there is none for the event.
	ExitCode int
	// Handled is set where there was an executable.
	Handled bool
	// Said is the end of what it wrote to standard error.
	Said string
}

func (t *turn) told(namespace string) Turn {
	env := map[string]string{
		tool.ContextID:    t.context,
		"JUJU_UNIT_NAME":  t.snapshot.Unit.String(),
		"JUJU_MODEL_NAME": namespace,
		"ORCON_ATTEMPT":   strconv.Itoa(t.attempt),
	}
	e := t.event
	if e.Relation != "" {
		env["JUJU_RELATION"] = e.Endpoint
		env[tool.RelationID] = e.Endpoint + ":" + strconv.Itoa(e.ID)
		env[tool.RemoteApp] = e.Application
	}
	if e.Unit != nil {
		env[tool.RemoteUnit] = e.Unit.String()
	}
	if e.Departing != nil {
		env["JUJU_DEPARTING_UNIT"] = e.Departing.String()
	}
	if e.Reason != "" {
		env["ORCON_REASON"] = string(e.Reason)
	}
	if e.Kind == conversation.Broken {
		env["ORCON_FINAL"] = strconv.FormatBool(e.Final)
	}
	return Turn{Context: t.context, Hook: hook(e), Env: env}
}

// hook names the executable for an event.
func hook(e conversation.Event) string {
	if e.Kind == conversation.Elected {
		return "leader-elected"
	}
	return e.Endpoint + "-relation-" + string(e.Kind)
}

// describe names a turn for people.
func (t *turn) describe() string {
	e := t.event
	about := cmp.Or(e.Application, t.snapshot.Unit.Application)
	if e.Unit != nil {
		about = e.Unit.String()
	}
	return hook(e) + " (" + about + ")"
}
