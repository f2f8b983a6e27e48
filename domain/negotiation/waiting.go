package negotiation

import (
	"fmt"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// waits says what applications wait for.
type waits struct {
	*facts
	relations relations
	// obstacles has why references lead nowhere, by application.
	obstacles map[string][]relation.Obstacle
}

// of lists the endpoints of a that have no complete relation, in order of
// declaration, each with the reason.
func (w waits) of(a application.Application) []relation.Waiting {
	var all []relation.Waiting
	for _, e := range a.Endpoints {
		if e.Role != application.Requirer {
			continue
		}
		if reason, message := w.why(a, e); reason != "" {
			message = condition.Cut(message, condition.MaxEntry)
			all = append(all, relation.Waiting{Endpoint: e.Name, Optional: e.Optional, Reason: reason, Message: message})
		}
	}
	return all
}

// why returns the reason why an endpoint has no complete relation; empty if it
// has one. Of several it is that of the first by name, whatever ids they were given, and
// of one that ends only if no other is there.
func (w waits) why(a application.Application, e application.Endpoint) (reason, message string) {
	here, first := w.here(a.Name, e.Name), ""
	for r := range w.relations.of(a.Name) {
		if r.Requirer != here {
			continue
		}
		if r.Complete() {
			return "", ""
		}
		ready := condition.Why(r.State.Conditions)
		ends, ending := ready.Reason == relation.ReasonEnding, reason == relation.ReasonEnding
		if first == "" || ending && !ends || ending == ends && r.Name < first {
			first, reason, message = r.Name, ready.Reason, ready.Message
		}
	}
	if reason != "" && reason != relation.ReasonEnding {
		return reason, message
	}
	if blocked, by := w.blocked(a, e); blocked != "" {
		return blocked, by
	}
	if reason == relation.ReasonEnding {
		return reason, message
	}
	return relation.ReasonNoRelation, w.candidates(a, e)
}

// blocked returns why the references that may be about an endpoint lead
// nowhere: the one that names it, or all that name none.
func (w waits) blocked(a application.Application, e application.Endpoint) (reason, message string) {
	var all []string
	for _, o := range w.obstacles[a.Name] {
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
