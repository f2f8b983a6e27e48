package bundle

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// ApprovalMode says who approves plans.
type ApprovalMode string

// The modes.
const (
	// Auto approves each plan that nothing holds; the default.
	Auto ApprovalMode = "Auto"
	// ByDigest asks for an Approval of the plan's digest.
	ByDigest ApprovalMode = "Digest"
	// ByPolicy approves what a policy allows, and else as ByDigest.
	ByPolicy ApprovalMode = "Policy"
)

// Approval is a person's approval of one plan.
type Approval struct {
	// PlanDigest identifies the plan that is approved.
	PlanDigest string
	// Confirmed are the objects whose end is confirmed.
	Confirmed []ID
	// Expires is until when it counts; zero for ever.
	Expires time.Time
	// By is the user who approved.
	By string
}

// DigestOfPlans identifies the plans of several deployments, given by their digests.
func DigestOfPlans(plans map[string]string) string {
	var texts []string
	for _, deployment := range slices.Sorted(maps.Keys(plans)) {
		texts = append(texts, deployment, plans[deployment])
	}
	return digest(texts...)
}

// Gate lists the checks that a plan has to pass.
type Gate struct {
	// Mode is Auto where it is empty.
	Mode ApprovalMode
	// Refused is why the policy refuses the plan; empty where it allows it.
	Refused string
	// FourEyes requires an approval by another person than the Requester.
	FourEyes  bool
	Requester string
	Now       time.Time
}

// Within returns a gate that is as strict at least as the annotations of a namespace require. A value
// that is unknown counts as the strictest.
func (g Gate) Within(namespace map[string]string) Gate {
	if mode, set := namespace[ApprovalKey]; set && mode != string(Auto) {
		g.Mode = ByDigest
	}
	if choice, set := namespace[SelfApprovalKey]; set && choice != "Allow" {
		g.FourEyes = true
	}
	return g
}

// RefusedError says what a plan waits for.
type RefusedError struct {
	Reason Reason
	// Message says what is missing and how to give it.
	Message string
}

// Error returns the message.
func (e *RefusedError) Error() string { return e.Message }

// The reasons for which a plan is not approved, besides those that hold it.
const (
	// Conflicted: an object of another owner is in the way; no approval helps.
	Conflicted Reason = "Conflict"
	// Unapproved: the plan has no approval.
	Unapproved Reason = "WaitingForApproval"
	// InUse: others have objects of a kind whose definition, or whose controller, would go.
	InUse Reason = "InUse"
	// Refused: the policy does not allow it.
	Refused Reason = "PolicyRefused"
)

// Approve returns nil if the plan may be carried out now, and else a RefusedError. What
// is held needs an approval in every mode. The approval of a plan covers the way back to
// its base: that has no gate but Record.Return.
func Approve(p Plan, g Gate, approvals []Approval) error {
	if len(p.Conflicts) > 0 {
		return p.conflicted("conflicts: ")
	}
	valid := slices.DeleteFunc(slices.Clone(approvals), func(a Approval) bool { return g.voids(p, a) != "" })
	switch mode := cmp.Or(g.Mode, Auto); {
	case len(valid) > 0, mode == Auto:
	case mode == ByPolicy && g.Refused == "":
	case mode == ByPolicy:
		return &RefusedError{Refused, fmt.Sprintf("the policy refuses plan %.12s: %s: change the bundle, or approve the plan",
			p.Digest, g.Refused)}
	default:
		return &RefusedError{Unapproved, fmt.Sprintf("plan %.12s is not approved yet%s", p.Digest, g.void(p, approvals))}
	}
	if h, held := p.unconfirmed(valid...); held {
		return &RefusedError{h.Reason, fmt.Sprintf("cannot carry out the plan: %s", h)}
	}
	return nil
}

// conflicted returns an error that names the objects of other owners in the way; setting is that of Conflict.Words.
func (p Plan) conflicted(setting string) error {
	what := "1 conflict"
	if n := len(p.Conflicts); n > 1 {
		what = fmt.Sprintf("%d conflicts, the first", n)
	}
	return &RefusedError{Conflicted, fmt.Sprintf("cannot carry out the plan: %s: %s", what, p.Conflicts[0].Words(setting))}
}

// unconfirmed returns the first hold that is not wholly confirmed.
func (p Plan) unconfirmed(approvals ...Approval) (h Hold, held bool) {
	for _, h := range p.Holds {
		if slices.ContainsFunc(h.Objects, func(id ID) bool { return !confirmed(approvals, id) }) {
			return h, true
		}
	}
	return Hold{}, false
}

// voids says why an approval does not count for the plan; empty if it does.
func (g Gate) voids(p Plan, a Approval) string {
	switch {
	case a.PlanDigest != p.Digest:
		return "is for another plan"
	case !a.Expires.IsZero() && !g.Now.Before(a.Expires):
		return "has expired"
	case g.FourEyes && g.Requester == "":
		return "cannot count: annotation orcon.tengu.io/requester of the deployment must name who asks for the change"
	case g.FourEyes && (a.By == "" || a.By == g.Requester):
		return "must come from another person"
	}
	return ""
}

// void says why the last of the approvals does not count.
func (g Gate) void(p Plan, approvals []Approval) string {
	if len(approvals) == 0 {
		return ""
	}
	last := approvals[len(approvals)-1]
	return fmt.Sprintf(" (the Approval by %q %s)", last.By, g.voids(p, last))
}

func confirmed(approvals []Approval, id ID) bool {
	return slices.ContainsFunc(approvals, func(a Approval) bool { return slices.Contains(a.Confirmed, id) })
}
