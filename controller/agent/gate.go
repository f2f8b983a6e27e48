package agent

import (
	"cmp"
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// Unmet is a required endpoint without a complete relation.
type Unmet struct {
	// Endpoint is its name.
	Endpoint string
	// Why is one sentence a person can act on.
	Why string
}

// Unmet returns what the start gate waits for: every required endpoint on which
// no relation of the latest snapshot is complete. Relations that are only
// remembered do not open a gate.
func (v Projection) Unmet(consumes []application.Endpoint) []Unmet {
	var unmet []Unmet
	for _, e := range consumes {
		if !required(e) {
			continue
		}
		if why := v.whyNot(e.Name); why != "" {
			unmet = append(unmet, Unmet{Endpoint: e.Name, Why: why})
		}
	}
	return unmet
}

// required reports whether the start gate waits for an endpoint.
func required(e application.Endpoint) bool {
	return !e.Optional && (e.Role == application.Requirer || e.Role == "")
}

// whyNot returns why no relation on endpoint is complete; "" if one is.
func (v Projection) whyNot(endpoint string) string {
	if !v.Heard {
		return "the controller has not answered yet"
	}
	if v.Own.Ignored != "" {
		return v.Own.Ignored
	}
	if first, shown := v.primary(endpoint); shown && !v.read(first) && slices.Contains(v.Unread(), first.Granted) {
		return whyUnread(first) // <endpoint>/ is of this relation, whichever others are complete
	}
	why := whyWaiting(v.View.Waiting, endpoint)
	for _, r := range v.View.Relations {
		if r.Endpoint != endpoint || ended(r) || !v.Present[key(r)] {
			continue
		}
		if r.Complete && v.read(r) {
			return ""
		}
		if r.Complete {
			why = whyUnread(r)
			continue
		}
		why = cmp.Or(r.Message, r.Reason, r.There.Application+" has given no data yet")
	}
	return cmp.Or(why, "the controller knows no relation on this endpoint")
}

// whyUnread returns why a relation that grants a Secret has no files.
func whyUnread(r conversation.Relation) string {
	return "the Secret that " + r.There.Application + " grants could not be read yet"
}

// whyWaiting returns why an application waits for endpoint; "" if it does not.
func whyWaiting(all []conversation.Waiting, endpoint string) string {
	why := ""
	for _, w := range all {
		if w.Endpoint == endpoint {
			why = cmp.Or(w.Message, w.Reason)
		}
	}
	return why
}
