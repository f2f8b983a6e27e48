package bundle

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// The conditions of a deployment, besides those that every kind has (BUNDLES.md, Kinds).
const (
	// Sourced is true when the content is fetched, Rendered when it has become objects, Planned
	// when the changes are known, and Approved when they may be made.
	Sourced  condition.Type = "Sourced"
	Rendered condition.Type = "Rendered"
	Planned  condition.Type = "Planned"
	Approved condition.Type = "Approved"
	// UnderWay is true while a revision is carried out.
	UnderWay condition.Type = "Progressing"
	// Healthy is true while every object is up to date and healthy.
	Healthy condition.Type = "Healthy"
	// Degraded is true when a revision, or the correction of a change, has failed.
	Degraded condition.Type = "Degraded"
)

// Stop is why the wanted content is not carried out.
type Stop struct {
	// Stage is the condition that does not become true; empty for what comes before all.
	Stage condition.Type
	// Reason is one word.
	Reason  string
	Message string
	// Person reports that it does not pass by itself.
	Person bool
}

// Standing is the state of a deployment.
type Standing struct {
	// Stop is nil where nothing stands in the way.
	Stop *Stop
	// Last is the newest revision that was begun (Record.Begun).
	Last Revision
	// Next is the outcome of the last look at it.
	Next Next
	// Drift are the objects that something else has changed; Reported leaves them so.
	Drift    []Drifted
	Reported bool
	// Every is how often a healthy revision is compared with the cluster. Changes between are seen
	// too, but for those of objects that the account may not watch.
	Every     time.Duration
	Unwatched []Permission
}

// Conditions returns the state in words that do not change while it lasts. Each condition
// states its own fact; Ready sums up, and names the condition that has the details.
func (s Standing) Conditions() []condition.Condition {
	all := append(s.sum().conditions(), s.stages()...)
	if s.Last.Number == 0 {
		return all
	}
	progressing := condition.New(UnderWay, false, string(s.Last.State), "no revision is being carried out")
	if s.Last.State == StateActive {
		progressing = condition.New(UnderWay, true, string(Progressing), s.progress())
	}
	all = append(all, progressing)
	if s.Next.All > 0 { // else the cluster was not looked at
		all = append(append(all, s.health()), s.assumptions()...)
	}
	return append(all, s.degraded())
}

// Summary returns Ready's reason, and the details that Ready itself may shorten.
func (s Standing) Summary() (reason, details string) {
	v := s.sum()
	return v.reason, v.details + v.kept
}

// stages are the conditions up to what stops.
func (s Standing) stages() []condition.Condition {
	done := map[condition.Type]string{
		Sourced: "the content is fetched", Rendered: "the content is rendered", Planned: "the plan is made",
		Approved: "the plan may be carried out",
	}
	var all []condition.Condition
	for _, stage := range []condition.Type{Sourced, Rendered, Planned, Approved} {
		switch {
		case s.Stop == nil:
		case s.Stop.Stage == stage:
			return append(all, condition.New(stage, false, s.Stop.Reason, s.Stop.Message))
		case s.Stop.Stage == "":
			return nil
		}
		all = append(all, condition.New(stage, true, string(stage), done[stage]))
	}
	return all
}

// verdict sums a standing up.
type verdict struct {
	// ready, else person reports that it does not pass by itself.
	ready, person bool
	reason        string
	details       string
	// where is the condition that has the details; empty if none of its own has.
	where condition.Type
	// kept names the revision that stays meanwhile.
	kept string
}

func (s Standing) sum() verdict {
	switch {
	case s.Stop != nil:
		return verdict{person: s.Stop.Person, reason: s.Stop.Reason, details: s.Stop.Message, where: s.Stop.Stage, kept: s.goesOn()}
	case s.Last.State == StateActive:
		return verdict{reason: string(Progressing), details: s.progress(), where: UnderWay}
	case s.Last.State == StateFailed:
		return verdict{person: true, reason: string(Failed), details: s.failure(), where: Degraded}
	case len(s.Next.Failures) > 0:
		return verdict{reason: string(Degraded), details: s.failure(), where: Degraded}
	case s.Next.unhealthy(len(s.Drift)):
		return verdict{reason: unhealthy, details: s.progress(), where: Healthy}
	case len(s.Drift) > 0:
		return verdict{ready: s.healthy(), person: s.Reported, reason: ReasonDrifted, details: s.DriftDetails(), where: Healthy}
	case !s.healthy():
		return verdict{reason: unhealthy, details: s.progress(), where: Healthy}
	}
	return verdict{ready: true, reason: string(Healthy), details: s.progress(), where: Healthy}
}

// The reasons of Ready and Healthy while a revision that has succeeded is not as it was.
const (
	ReasonDrifted = "Drifted"
	unhealthy     = "Unhealthy"
)

// conditions are Ready, Reconciling and Stalled.
func (v verdict) conditions() []condition.Condition {
	elsewhere, where := v.details+v.kept, v.where
	switch {
	case where != "":
		elsewhere = "see condition " + string(where)
	case v.person:
		where = condition.Stalled
	default:
		where = condition.Reconciling
	}
	more := " (see condition " + string(where) + ")"
	ready := condition.New(condition.Ready, v.ready, v.reason, brief(v.details, more)+v.kept)
	reconciling := condition.New(condition.Reconciling, false, "Settled", "nothing is under way")
	stalled := condition.New(condition.Stalled, false, "NoActionNeeded", "nothing needs a person's action")
	switch {
	case v.ready:
	case v.person:
		reconciling = condition.New(condition.Reconciling, false, string(condition.Stalled), "nothing happens before a person acts")
		stalled = condition.New(condition.Stalled, true, v.reason, elsewhere)
	default:
		reconciling = condition.New(condition.Reconciling, true, v.reason, elsewhere)
	}
	return []condition.Condition{ready, reconciling, stalled}
}

// longestBrief is how many characters of a sentence a column shows.
const longestBrief = 120

// Brief returns the beginning of a text, short enough for a column.
func Brief(text string) string { return brief(text, "") }

// brief shortens a text that is too long for a column, and refers to the whole of it.
func brief(text, more string) string {
	first, _, cut := strings.Cut(text, "\n")
	if letters := []rune(first); len(letters) > longestBrief {
		first, cut = string(letters[:longestBrief]), true
		first = first[:max(strings.LastIndex(first, " "), len(first)/2)]
	}
	if !cut {
		return first
	}
	return strings.ToValidUTF8(strings.TrimRight(first, " :,;"), "") + "…" + more
}

// goesOn names the revision that stays while the wanted content does not come.
func (s Standing) goesOn() string {
	if s.Last.State != StateSucceeded {
		return ""
	}
	return fmt.Sprintf("; revision %d is kept", s.Last.Number)
}

// healthy reports whether every object is healthy, but for changes that are only reported.
func (s Standing) healthy() bool {
	left := len(s.Drift)
	if !s.Reported || slices.ContainsFunc(s.Drift, func(d Drifted) bool { return d.Deleted }) {
		left = 0
	}
	return s.Last.State == StateSucceeded && len(s.Next.Failures) == 0 && s.Next.Finished+left == s.Next.All
}

// health is the condition Healthy.
func (s Standing) health() condition.Condition {
	reason, text := unhealthy, s.progress()
	switch {
	case s.Last.State == StateActive:
		reason, text = string(Progressing), "see condition Progressing"
	case s.Last.State == StateFailed, len(s.Next.Failures) > 0:
		reason, text = string(Degraded), "see condition Degraded"
	case s.Next.unhealthy(len(s.Drift)):
	case len(s.Drift) > 0:
		reason, text = ReasonDrifted, s.DriftDetails()
	case s.healthy():
		reason, text = string(Healthy), "every object is up to date and healthy"
		if s.Every > 0 {
			text += fmt.Sprintf("; Orcon looks for changes by others every %s%s", span(s.Every), unwatched(s.Unwatched))
		}
	}
	return condition.New(Healthy, s.healthy(), reason, text)
}

// span writes a duration without the seconds of whole minutes.
func span(d time.Duration) string {
	if d > 0 && d%time.Minute == 0 {
		return strings.TrimSuffix(d.String(), "0s")
	}
	return d.String()
}

// degraded is the condition Degraded.
func (s Standing) degraded() condition.Condition {
	if s.Last.State != StateFailed && len(s.Next.Failures) == 0 {
		return condition.New(Degraded, false, "NoFailure", "nothing has failed")
	}
	return condition.New(Degraded, true, string(Failed), s.failure())
}

// failure describes what has failed.
func (s Standing) failure() string {
	if s.Last.State == StateFailed {
		return fmt.Sprintf("revision %d failed: %s", s.Last.Number, s.Last.Message)
	}
	return s.Next.Failures[0].String()
}

// DriftDetails describes what others have changed, and what follows. Something has drifted.
func (s Standing) DriftDetails() string {
	text := s.Drift[0].String()
	if more := len(s.Drift) - 1; more > 0 {
		text += fmt.Sprintf(", and %s", counted(more, "more object differs", "more objects differ"))
	}
	if s.Reported {
		return text + "; it stays so (spec.drift.mode: Report)"
	}
	return text + "; Orcon is correcting it"
}

// counted writes a number with what is said of one, or of several.
func counted(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, several)
}

// progress describes how far the last revision has come, and what it waits for first.
func (s Standing) progress() string {
	text := fmt.Sprintf("revision %d: %d of %d objects are healthy", s.Last.Number, s.Next.Finished, s.Next.All)
	if s.healthy() {
		text = counted(s.Next.All, "object is up to date and healthy", "objects are up to date and healthy")
		if s.Next.All > 1 {
			text = "all " + text
		}
	}
	if waiting := s.Next.Waiting(); waiting != "" {
		text += "; " + waiting
	}
	if len(s.Drift) > 0 {
		text += "; " + s.DriftDetails()
	}
	return text
}
