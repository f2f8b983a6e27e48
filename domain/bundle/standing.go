package bundle

import (
	"fmt"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// The conditions of a deployment, besides those that every kind has (BUNDLES.md, Kinds).
const (
	// Sourced says that the content is there, Rendered that it has become objects, Planned
	// that it is known what they would change, and Approved that this may be done.
	Sourced  condition.Type = "Sourced"
	Rendered condition.Type = "Rendered"
	Planned  condition.Type = "Planned"
	Approved condition.Type = "Approved"
	// UnderWay says that a revision is being carried out.
	UnderWay condition.Type = "Progressing"
	// Healthy says that what was carried out last is as it shall be.
	Healthy condition.Type = "Healthy"
	// Degraded says that something is wrong with it, or that what is wanted has failed.
	Degraded condition.Type = "Degraded"
)

// Stop is why what is wanted is not carried out.
type Stop struct {
	// Stage is the condition that does not become true; empty for what comes before all.
	Stage condition.Type
	// Reason is one word.
	Reason  string
	Message string
	// Person says that it does not pass by itself.
	Person bool
}

// Standing is how a deployment stands.
type Standing struct {
	// Stop is nil where nothing stands in the way.
	Stop *Stop
	// Last is the newest revision that was begun (Record.Begun).
	Last Revision
	// Next is what was seen of it.
	Next Next
	// Drift is what others have changed of it and what stays so.
	Drift []ID
}

// Conditions says how it stands, in words that do not change while it stands so.
func (s Standing) Conditions() []condition.Condition {
	all := append(s.summary(), s.stages()...)
	if s.Last.Number == 0 {
		return all
	}
	sick, why := s.sick()
	all = append(all, condition.New(UnderWay, s.Last.State == StateActive, string(s.Last.State), s.progress()))
	if s.Next.All > 0 { // else nobody has looked
		all = append(all, condition.New(Healthy, s.healthy(), string(s.Last.State), s.progress()))
	}
	return append(all, condition.New(Degraded, sick, string(s.Last.State), why))
}

// stages are the conditions up to what stops.
func (s Standing) stages() []condition.Condition {
	var all []condition.Condition
	for _, stage := range []condition.Type{Sourced, Rendered, Planned, Approved} {
		switch {
		case s.Stop == nil:
		case s.Stop.Stage == stage:
			return append(all, condition.New(stage, false, s.Stop.Reason, s.Stop.Message))
		case s.Stop.Stage == "":
			return nil
		}
		all = append(all, condition.New(stage, true, string(stage), "done"))
	}
	return all
}

func (s Standing) summary() []condition.Condition {
	switch sick, why := s.sick(); {
	case s.Stop != nil && s.Stop.Person:
		return condition.Stuck(s.Stop.Reason, s.Stop.Message+s.goesOn())
	case s.Stop != nil:
		return condition.Waiting(s.Stop.Reason, s.Stop.Message+s.goesOn())
	case s.Last.State == StateActive:
		return condition.Waiting(string(Progressing), s.progress())
	case s.Last.State == StateFailed:
		return condition.Stuck(string(Failed), why)
	case sick:
		return condition.Waiting(string(Degraded), why)
	case !s.healthy():
		return condition.Waiting("Unhealthy", s.progress())
	case len(s.Drift) > 0:
		return condition.Settled("Drifted", fmt.Sprintf("revision %d: others have changed %s, which stays so: set spec.drift.mode: Correct to put it right", s.Last.Number, many(s.Drift)))
	}
	return condition.Settled(string(Healthy), s.progress())
}

// goesOn says what stands while what is wanted does not.
func (s Standing) goesOn() string {
	if s.Last.State != StateSucceeded {
		return ""
	}
	return fmt.Sprintf(" (revision %d is kept as it is)", s.Last.Number)
}

// healthy reports whether all is as it shall be, but for what is left to others.
func (s Standing) healthy() bool {
	return s.Last.State == StateSucceeded && len(s.Next.Failures) == 0 && s.Next.Finished+len(s.Drift) == s.Next.All
}

// sick says what is wrong with what was carried out last.
func (s Standing) sick() (sick bool, why string) {
	switch {
	case s.Last.State == StateFailed:
		return true, fmt.Sprintf("revision %d has failed: %s", s.Last.Number, s.Last.Message)
	case len(s.Next.Failures) > 0:
		f := s.Next.Failures[0]
		return true, fmt.Sprintf("revision %d: %s: %s", s.Last.Number, f.ID, f.Why)
	}
	return false, "nothing is known to be wrong"
}

// progress says how far the last revision has come, and what it waits for first.
func (s Standing) progress() string {
	text := fmt.Sprintf("revision %d: %d of %d objects are as they shall be", s.Last.Number, s.Next.Finished, s.Next.All)
	if len(s.Next.Waits) > 0 {
		w := s.Next.Waits[0]
		text += fmt.Sprintf("; %s waits: %s", w.ID, w.For)
	}
	return text
}

// many names the first of some objects, and counts the others.
func many(ids []ID) string {
	if len(ids) == 1 {
		return ids[0].String()
	}
	return fmt.Sprintf("%s and %d more", ids[0], len(ids)-1)
}
