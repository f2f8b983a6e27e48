package negotiation

import (
	"fmt"
	"slices"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// unhandledEnds lists, by application, the sides with an end that it has owed to its handlers for a while.
func unhandledEnds(now time.Time, all []relation.Side) map[string][]relation.Side {
	owed := map[string][]relation.Side{}
	for _, s := range all {
		if name := s.Here().Application; s.Owes() && !now.Before(s.Teardown.Since.Add(hearing)) {
			owed[name] = append(owed[name], s)
		}
	}
	return owed
}

// endsOwed names the ends that an application has owed to its handlers for a while, the oldest first, each with what it
// waits for, and the sides that cannot be read.
func endsOwed(s standings, name string) []condition.Condition {
	var texts []string
	for _, side := range s.owed[name] {
		texts = append(texts, owedText(side)+blocker(side, s.units.numbered[name]))
	}
	slices.Sort(texts) // each begins with its time
	text, reason := listed(texts), string(condition.EndsOwed)
	if len(texts) > 1 {
		text = fmt.Sprintf("%d ends are owed, the oldest first: %s", len(texts), text)
	}
	for _, one := range s.unreadable.all {
		here := one.Side.Here()
		if _, unknown := s.unreadable.pairs[pairSide{one.Side.Key, one.Side.Role}]; !unknown || here != s.here(name, here.Endpoint) {
			continue
		}
		if text == "" {
			reason = relation.ReasonUnreadable
		} else {
			text += "; "
		}
		text += fmt.Sprintf("it is unknown whether the end of the relation of %s with %s is owed: %s",
			here.Endpoint, one.Side.Other(here).Written(s.Namespace), s.unreadable.text(one))
	}
	if text == "" {
		return nil
	}
	return []condition.Condition{condition.New(condition.EndsOwed, true, reason, text)}
}

// blocker returns why an end that is owed is not handled, and what helps; "" while units may still handle it.
func blocker(s relation.Side, units []application.Unit) string {
	var why string
	fails := func(u application.Unit) bool {
		is := conversation.Unit{Application: s.Here().Application, Number: u.Number}
		return u.Failing.Fails() && u.Failing.Relation == s.Relation && slices.Contains(s.Teardown.Owed, is)
	}
	switch {
	case len(s.Teardown.Owed) == 0:
		why = "start one"
	case slices.ContainsFunc(units, fails):
		why = "mend its handler (see condition HandlerFailed)"
	default:
		return ""
	}
	return fmt.Sprintf(": %s, or waive the end: orcon ends waive %s -n %s", why, s.Name(), s.Here().Namespace)
}

// owedText returns the units to which a side owes the end of its relation, and since when, or that it is held.
func owedText(s relation.Side) string {
	here := s.Here()
	if s.Teardown.Held {
		return fmt.Sprintf("the end of the relation of %s with %s waits for a person", here.Endpoint, s.Other(here).Written(here.Namespace))
	}
	to := "the first unit with handlers that leads"
	if units := s.Teardown.Owed; len(units) > 0 {
		var names []string
		for _, unit := range units {
			names = append(names, unit.String())
		}
		to = listed(names)
	}
	return fmt.Sprintf("since %s the end of the relation of %s with %s is owed to %s",
		s.Teardown.Since.UTC().Format(time.RFC3339), here.Endpoint, s.Other(here).Written(here.Namespace), to)
}
