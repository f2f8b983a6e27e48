package negotiation

import (
	"fmt"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// waiting lists the endpoints of a that have no complete relation, in order of
// declaration, each with the reason.
func (n *negotiation) waiting(a application.Application) []Waiting {
	var all []Waiting
	for _, e := range a.Endpoints {
		if e.Role != application.Requirer {
			continue
		}
		if reason, message := n.why(a, e); reason != "" {
			all = append(all, Waiting{Endpoint: e.Name, Optional: e.Optional, Reason: reason, Message: message})
		}
	}
	return all
}

// why returns the reason why an endpoint has no complete relation; empty if it
// has one. Of several it is that of the first by name, whatever ids they were given, and
// of one that ends only if no other is there.
func (n *negotiation) why(a application.Application, e application.Endpoint) (reason, message string) {
	here, first := End{n.Namespace, a.Name, e.Name}, ""
	for r := range n.of(a.Name) {
		if r.Requirer != here {
			continue
		}
		if r.Complete() {
			return "", ""
		}
		ready := condition.Why(r.State.Conditions)
		ends, ending := ready.Reason == ReasonEnding, reason == ReasonEnding
		if first == "" || ending && !ends || ending == ends && r.Name < first {
			first, reason, message = r.Name, ready.Reason, ready.Message
		}
	}
	if reason != "" && reason != ReasonEnding {
		return reason, message
	}
	if blocked, by := n.blocked(a, e); blocked != "" {
		return blocked, by
	}
	if reason == ReasonEnding {
		return reason, message
	}
	return ReasonNoRelation, n.candidates(a, e)
}

// blocked returns why the references that may be about an endpoint lead
// nowhere: the one that names it, or all that name none.
func (n *negotiation) blocked(a application.Application, e application.Endpoint) (reason, message string) {
	var all []string
	for _, o := range n.obstacles[a.Name] {
		switch o.Reference.Endpoint {
		case e.Name:
			return o.Reason, o.Message
		case "":
			reason, all = o.Reason, append(all, o.Message)
		}
	}
	return reason, strings.Join(all, "; ")
}

// listed joins what may be very many for a message.
func listed(all []string) string {
	const most = 20
	if len(all) <= most {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), len(all)-most)
}
