package approval

import (
	"errors"
	"fmt"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// Approval is a person's consent that a plan is applied.
type Approval struct {
	// Namespace is that of the Runs and of the approval.
	Namespace string
	// Run is the name of the Run that made the plan, Digest that of the plan.
	Run, Digest string
	// By is the Run that applies the plan, if it was made; "" before.
	By string
}

// Subject has the facts by which an approval is judged.
type Subject struct {
	// Run is the Run that the approval names; the zero value if there is none.
	Run workspace.Run
	// Ended reports that it has ended.
	Ended     bool
	Workspace workspace.Workspace
}

// Reason is the reason of a condition.
type Reason string

// The reasons.
const (
	// Approved: a Run applies the plan.
	Approved Reason = "Approved"
	// NotPlanned: the Run that plans has not ended.
	NotPlanned Reason = "NotPlanned"
	// NoRun: the Run is not there.
	NoRun Reason = "NoRun"
	// OtherPlan: the plan is not the one that waits.
	OtherPlan Reason = "OtherPlan"
)

// Verdict tells what an approval comes to.
type Verdict struct {
	Reason  Reason
	Message string
}

// Judge returns what an approval comes to. A plan that is void counts as approved: the Run that would apply it has
// another one made. One that led to a Run stays so.
func (a Approval) Judge(s Subject) Verdict {
	p := s.Workspace.Plan
	err := workspace.Applicable(s.Workspace, a.Digest, workspace.Run{})
	switch {
	case a.By != "":
		return Verdict{Approved, fmt.Sprintf("JobRun %s applies the plan: `orcon job logs %s -f`", a.By, a.named(a.By))}
	case s.Run.UID == "":
		return Verdict{NoRun, fmt.Sprintf("there is no JobRun %s, so that its plan cannot be applied: "+
			"`orcon job runs -n %s` lists those that there are", a.Run, a.Namespace)}
	case !s.Ended:
		return Verdict{NotPlanned, fmt.Sprintf("JobRun %s has not ended: the approval counts if it leaves plan %s", a.Run, Short(a.Digest))}
	case p.Run != s.Run && p.Digest == a.Digest:
		return Verdict{OtherPlan, fmt.Sprintf("plan %s is that of %s, not of JobRun %s: `orcon job approve %s`",
			Short(a.Digest), p.Run, a.Run, a.named(p.Run.Name))}
	case p.Run == s.Run && p.Digest != a.Digest:
		return Verdict{OtherPlan, fmt.Sprintf("JobRun %s has left plan %s, not %s: look at it with `orcon job plan %[4]s`, "+
			"then `orcon job approve %[4]s`", a.Run, Short(p.Digest), Short(a.Digest), a.named(a.Run))}
	case err != nil && !errors.Is(err, workspace.ErrVoid):
		return Verdict{OtherPlan, fmt.Sprintf("cannot apply plan %s of JobRun %s: %v", Short(a.Digest), a.Run, err)}
	}
	return Verdict{Approved, fmt.Sprintf("a JobRun applies plan %s", Short(a.Digest))}
}

// named returns the name of a Run as commands take it.
func (a Approval) named(run string) string { return a.Namespace + "/" + run }

// shortDigits is how many digits of a digest messages have.
const shortDigits = 12

// Short returns the beginning of a digest.
func Short(digest string) string {
	const scheme = len("sha256:")
	return fmt.Sprintf("%.*s", shortDigits, digest[min(scheme, len(digest)):])
}

// Conditions returns the conditions of an approval.
func (v Verdict) Conditions() []condition.Condition {
	switch v.Reason {
	case Approved:
		return condition.Settled(string(v.Reason), v.Message)
	case NotPlanned:
		return condition.Waiting(string(v.Reason), v.Message)
	case NoRun, OtherPlan:
	}
	return condition.Stuck(string(v.Reason), v.Message)
}

// Meanings returns every reason that an approval shows.
func Meanings() []condition.Meaning {
	return []condition.Meaning{
		{Type: condition.Ready, Reason: string(Approved), Means: "the plan is approved, and a JobRun applies it", Cure: "nothing to do"},
		{Type: condition.Reconciling, Reason: string(NotPlanned), Means: "the JobRun that makes the plan has not ended", Cure: "wait"},
		{Type: condition.Stalled, Reason: string(NoRun), Means: "the JobRun that is named does not exist",
			Cure: "delete the JobApproval, and approve the plan of a JobRun that exists"},
		{Type: condition.Stalled, Reason: string(OtherPlan), Means: "the plan is another one, or was applied already",
			Cure: "delete the JobApproval, and do as the message advises"},
	}
}
