package agent

import (
	"strings"
	"time"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// ForChanges returns the changes of a transaction, one for each bag. With acted they have what the author has acted on.
func ForChanges(changes []conversation.Change, acted bool) []*wire.Change {
	var out []*wire.Change
	for _, c := range changes {
		change := &wire.Change{Relation: c.Relation, Application: !strings.Contains(c.Owner, "/"), Set: c.Set()}
		if acted {
			change.Seen = c.Seen()
		}
		out = append(out, change)
	}
	return out
}

// ToAnswers returns what a unit answers for departures of units of an application.
func ToAnswers(application string, departures []*wire.Departure) []conversation.Answer {
	var all []conversation.Answer
	for _, d := range departures {
		all = append(all, conversation.Answer{
			Unit:  conversation.Unit{Application: application, Number: int(d.GetNumber())},
			Since: time.Unix(d.GetSince(), 0).UTC(), Handled: d.GetHandled(),
		})
	}
	return all
}

// ForAnswers returns what a unit answers for departures.
func ForAnswers(answers []conversation.Answer) []*wire.Departure {
	var all []*wire.Departure
	for _, a := range answers {
		all = append(all, &wire.Departure{Number: int64(a.Unit.Number), Since: a.Since.Unix(), Handled: a.Handled})
	}
	return all
}
