package agent

import (
	"maps"
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// answers records whether the controller has answered the tools of a handler. A shell takes a tool that fails for the
// answer no.
type answers struct {
	// tool is the name of the tool that runs.
	tool string
	// missing are the errors of tools without an answer, by name, until one of that name has an answer.
	missing map[string]error
	// follows is set once a tool has printed that the unit does not lead.
	follows bool
}

// begin starts a call of a tool.
func (a *answers) begin(tool string) {
	a.tool = tool
	delete(a.missing, tool)
}

// note records the error of a request, and returns it.
func (a *answers) note(err error) error {
	if !conversation.Unanswered(err) {
		return err
	}
	if a.missing == nil {
		a.missing = map[string]error{}
	}
	a.missing[a.tool] = err
	return err
}

// failure returns why the handler cannot have decided rightly; empty if no answer is missing.
func (a *answers) failure() string {
	for _, tool := range slices.Sorted(maps.Keys(a.missing)) {
		return tool + " got no answer: " + a.missing[tool].Error()
	}
	return ""
}

// under returns the snapshot by which the handler has handled its event: that of a leader only if no tool has printed
// otherwise (TRUST.md T2).
func (a *answers) under(s conversation.Snapshot) conversation.Snapshot {
	s.Leader = s.Leader && !a.follows
	return s
}
