package agent

import (
	"cmp"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
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
func (v View) Unmet(consumes []application.Endpoint) []Unmet {
	var unmet []Unmet
	for _, e := range consumes {
		if e.Optional || e.Role != application.Requirer && e.Role != "" {
			continue
		}
		if why := v.whyNot(e.Name); why != "" {
			unmet = append(unmet, Unmet{Endpoint: e.Name, Why: why})
		}
	}
	return unmet
}

// whyNot returns why no relation on endpoint is complete; "" if one is.
func (v View) whyNot(endpoint string) string {
	if !v.Heard {
		return "the controller has not answered yet"
	}
	if v.Unit.Ignored != "" {
		return v.Unit.Ignored
	}
	why := whyWaiting(v.Waiting, endpoint)
	for _, r := range v.Relations {
		if r.Endpoint != endpoint || r.Ended || !r.Present {
			continue
		}
		if r.Complete && v.read(r) {
			return ""
		}
		if r.Complete {
			why = "the Secret that " + r.Application + " grants could not be read yet"
			continue
		}
		why = cmp.Or(r.Message, r.Reason, r.Application+" has given no data yet")
	}
	return cmp.Or(why, "the controller knows no relation on this endpoint")
}

// whyWaiting returns why an application waits for endpoint; "" if it does not.
func whyWaiting(all []Waiting, endpoint string) string {
	why := ""
	for _, w := range all {
		if w.Endpoint == endpoint {
			why = cmp.Or(w.Message, w.Reason)
		}
	}
	return why
}
