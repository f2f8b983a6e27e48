package integrationset

import (
	"fmt"
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// The reasons for which a set is not looked at further.
const (
	Paused        = "Paused"
	Fetching      = "Fetching"
	FetchFailed   = "FetchFailed"
	SourceRefused = "SourceRefused"
	InvalidSpec   = "InvalidSpec"
	ReadOnly      = "ReadOnly"
	SelfApproval  = "SelfApprovalForbidden"
	DryRun        = "DryRun"
	Rival         = "OtherManager"
)

// The reasons of a set that was looked at.
const (
	reasonReady       = "MembersReady"
	reasonProgressing = "MembersProgressing"
	reasonStalled     = "MemberStalled"
	reasonConflict    = "MemberConflict"
	reasonApproval    = "WaitingForApproval"
	reasonFaulty      = "DataFaulty"
	reasonHeld        = "RemovalHeld"
	reasonNothing     = "NothingDeclared"
	reasonDeleting    = "Deleting"
)

// Stop describes the reason for which a set is not looked at further.
type Stop struct {
	Reason, Message string
	// Person reports that it lasts until a person acts.
	Person bool
}

// Result describes a look at a set.
type Result struct {
	// Stop is nil if the data could be read.
	Stop *Stop
	// Approve is the command that approves plans.
	Approve string
	// Stale is the error for which earlier data are used; "" for none.
	Stale string
	// Faults lists the errors of the data, with file and line.
	Faults []string
	Situation
	Decision
}

// Ready counts the members that are as declared and ready.
func (r Result) Ready() int {
	d := decider{standing: map[Key]Standing{}}
	for _, m := range r.Standing {
		d.standing[m.Key] = m
	}
	n := 0
	for _, w := range r.Wanted {
		if m := d.standing[w.Key]; !d.differs(w) && m.State == Ready && (m.Set == "" || w.Integration == "") {
			n++
		}
	}
	return n
}

// Plans returns the digests of the plans that wait for approval, by BundleDeployment.
func (r Result) Plans() map[string]string {
	plans := map[string]string{}
	for _, m := range r.Standing {
		if m.Plan != "" && m.Set == "" {
			plans[m.Name] = m.Plan
		}
	}
	return plans
}

// Conditions sums a look up. What a person has to do comes before what goes on by itself.
func (r Result) Conditions() []condition.Condition {
	stalled := slices.IndexFunc(r.Standing, func(m Standing) bool { return m.State == Stalled })
	conflict := slices.IndexFunc(r.Waits, func(w Wait) bool { return w.Person })
	switch {
	case r.Stop != nil && r.Stop.Person:
		return condition.Stuck(r.Stop.Reason, r.Stop.Message)
	case r.Stop != nil:
		return condition.Waiting(r.Stop.Reason, r.Stop.Message)
	case r.Stale != "":
		return condition.Waiting(FetchFailed, r.Stale+"; members go on with the data that were read before")
	case r.Removal != nil:
		return condition.Stuck(reasonHeld, r.Removal.String())
	case r.Ending:
		return condition.Waiting(reasonDeleting, fmt.Sprintf("members that are being deleted: %d", len(r.Standing)))
	case len(r.Faults) > 0:
		return condition.Stuck(reasonFaulty, fmt.Sprintf("%s; what depends on it stays as it is%s", r.Faults[0], more(len(r.Faults)-1)))
	case len(r.Wanted)+len(r.Standing) == 0:
		return condition.Stuck(reasonNothing, "the data declare nothing for this set: no entry fits spec.environments, spec.cluster, "+
			"spec.upstream and spec.integrations")
	case len(r.Plans()) > 0:
		return condition.Stuck(reasonApproval, fmt.Sprintf("plans that wait for approval: %d. To approve them: %s", len(r.Plans()), r.Approve))
	case conflict >= 0:
		return condition.Stuck(reasonConflict, fmt.Sprintf("%s: %s", r.Waits[conflict].Key, r.Waits[conflict].Why))
	case stalled >= 0:
		return condition.Stuck(reasonStalled, fmt.Sprintf("%s: %s", r.Standing[stalled].Key, r.Standing[stalled].Why))
	case len(r.Steps) > 0 || len(r.Waits) > 0 || r.Ready() < len(r.Wanted):
		return condition.Waiting(reasonProgressing, fmt.Sprintf("members ready: %d of %d%s", r.Ready(), len(r.Wanted), r.first()))
	}
	return condition.Settled(reasonReady, fmt.Sprintf("members ready: %d of %d", len(r.Wanted), len(r.Wanted)))
}

// more returns how many others there are; "" for none.
func more(others int) string {
	if others == 0 {
		return ""
	}
	return fmt.Sprintf(" (and %d more: see status.faults)", others)
}

// Unready returns what waits, and then the members that are not ready, with what they wait for, by their keys.
func (r Result) Unready() []Wait {
	all, known := slices.Clone(r.Waits), map[Key]bool{}
	for _, w := range r.Waits {
		known[w.Key] = true
	}
	for _, m := range slices.SortedFunc(slices.Values(r.Standing), func(a, b Standing) int { return a.Compare(b.Key) }) {
		if m.State != Ready && m.Set == "" && m.Why != "" && !known[m.Key] {
			all = append(all, Wait{Key: m.Key, Why: m.Why})
		}
	}
	return all
}

// first returns the first wait; "" for none.
func (r Result) first() string {
	all := r.Unready()
	if len(all) == 0 {
		return ""
	}
	return fmt.Sprintf("; %s: %s", all[0].Key, all[0].Why)
}
