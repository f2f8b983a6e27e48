package negotiation

import (
	"fmt"
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// judge returns a relation with its conditions, whether its data is complete, and its
// status, so that none contradicts another: Ready is true only while the relation works,
// and its reason is Complete only where nothing else is to be known.
func (n *negotiation) judge(r Relation) Relation {
	cs, failing := n.standing(r), n.failingIn(r)
	r.State.Data = DataMissing
	if ready, _ := condition.Find(cs, condition.Ready); ready.True {
		r.State.Data = DataComplete
		cs = n.qualified(r, cs)
	}
	if len(failing) > 0 && n.works(r) {
		text := "a handler fails: see condition HandlerFailed"
		if why := condition.Why(cs); !why.True {
			text += "; " + why.Message
		}
		cs = condition.Waiting(string(condition.HandlerFailed), text)
	}
	r.State.Conditions = condition.With(cs, slices.Concat(n.held(r), n.violated(r), failing, sides(r))...)
	r.State.Status = n.status(r)
	return r
}

// works reports whether a relation is such that handlers are called for it: it lives, both
// of its sides are there and may see each other, and its requirer has agents.
func (n *negotiation) works(r Relation) bool {
	requirer, there := n.app(r.Requirer)
	_, provider := n.app(r.Provider)
	return r.State.EndReason == "" && r.Open() && there && provider && !requirer.OptedOut()
}

// notOptedIn returns that a namespace takes no part, and the command that helps.
func notOptedIn(namespace string) string {
	return fmt.Sprintf("namespace %s has not opted in: %s", namespace, application.OptIn(namespace))
}

// standing returns whether a relation gives its requirer the data that it waits for, and
// else why not.
func (n *negotiation) standing(r Relation) []condition.Condition {
	requirer, there := n.app(r.Requirer)
	_, provider := n.app(r.Provider)
	switch {
	case r.State.EndReason != "":
		return condition.Waiting(ReasonEnding, n.ending(r))
	case !r.Open():
		return n.closed(r)
	case n.OptedOut:
		return condition.Stuck(ReasonOptedOut, notOptedIn(n.Namespace))
	case !provider:
		return gone(ReasonProviderGone, "provider "+r.Provider.from(n.Namespace))
	case !there:
		return gone(ReasonRequirerGone, "requirer "+r.Requirer.Application)
	case requirer.OptedOut():
		return condition.Stuck(ReasonOptedOut,
			fmt.Sprintf("the pods of %s opt out of injection and get no data: remove %s=false or the relation", requirer.Name,
				application.KeyInject))
	case r.Peer():
		return condition.Settled(ReasonComplete, fmt.Sprintf("the units of %s are related on %s", r.Requirer.Application, r.Requirer.Endpoint))
	}
	if cs := n.unfitting(r); cs != nil {
		return cs
	}
	return n.completeness(r)
}

func gone(reason, side string) []condition.Condition {
	return condition.Waiting(reason, side+" does not exist any more: create it again or end the relation")
}

// qualified returns the conditions of a relation whose data is complete, with what else
// there is to know of it as the reason.
func (n *negotiation) qualified(r Relation, complete []condition.Condition) []condition.Condition {
	over := n.overLimit(r)
	switch held, _ := condition.Find(n.held(r), condition.Held); {
	case held.True:
		return condition.Settled(held.Reason, "the relation works but is held: see condition Held")
	case over != "":
		return condition.Settled(ReasonOverLimit, "the relation works but is over a limit that was lowered: "+over)
	case !n.present(r.Requirer, true):
		return condition.Settled(ReasonNoUnit, fmt.Sprintf("the data is complete, but no pod of %s has an agent yet", r.Requirer.Application))
	}
	if len(n.violated(r)) > 0 {
		return condition.Settled(string(condition.SchemaViolated), "the relation works, but see condition SchemaViolated")
	}
	return complete
}
