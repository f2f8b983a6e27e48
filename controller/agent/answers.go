package agent

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/tool"
)

// answers records whether the controller has answered the tools of a handler. A shell takes a tool that fails for the
// answer no.
type answers struct {
	// tool is the name of the tool that runs; call is a digest of its name, arguments, variables and files, which may be large
	// and secret.
	tool string
	call [sha256.Size]byte
	// missing has why each call got no answer, until the same call gets one.
	missing map[[sha256.Size]byte]string
	// follows is set once a tool has printed that the unit does not lead.
	follows bool
}

// begin starts a call of a tool.
func (a *answers) begin(call tool.Call) {
	a.tool, a.call = call.Name, sha256.Sum256(fmt.Appendf(nil, "%q", call))
	delete(a.missing, a.call)
}

// note records the error of a request, and returns it. The arguments of the call are not in the failure: they may be
// secret.
func (a *answers) note(err error) error {
	if !conversation.Unanswered(err) {
		return err
	}
	if a.missing == nil {
		a.missing = map[[sha256.Size]byte]string{}
	}
	a.missing[a.call] = a.tool + " got no answer: " + err.Error()
	return err
}

// failure returns why the handler cannot have decided rightly; empty if no answer is missing.
func (a *answers) failure() string {
	if len(a.missing) == 0 {
		return ""
	}
	return slices.Min(slices.Collect(maps.Values(a.missing)))
}

// under returns the snapshot by which the handler has handled its event: that of a leader only if no tool has printed
// otherwise (TRUST.md T2).
func (a *answers) under(s conversation.Snapshot) conversation.Snapshot {
	s.Leader = s.Leader && !a.follows
	return s
}
