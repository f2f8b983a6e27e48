package negotiation

import (
	"fmt"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
)

// standing returns whether a relation gives its requirer the data that it waits for, and
// else why not.
func (j judging) standing(r relation.Relation) []condition.Condition {
	requirer, there := j.app(r.Requirer)
	_, provider := j.app(r.Provider)
	before, owed := j.sides.owing(r.Key)
	switch {
	case r.State.EndReason != "":
		return condition.Waiting(relation.ReasonEnding, endings{j.units}.waits(r))
	case owed:
		return condition.Waiting(relation.ReasonEndOwed, owedBefore(j.Namespace, before))
	case !r.Open():
		return offers{j.facts}.closed(r)
	case j.OptedOut:
		return condition.Stuck(relation.ReasonOptedOut, notOptedIn(j.Namespace))
	case !provider:
		return gone(relation.ReasonProviderGone, "provider "+r.Provider.From(j.Namespace))
	case !there:
		return gone(relation.ReasonRequirerGone, "requirer "+r.Requirer.Application)
	case requirer.OptedOut():
		return condition.Stuck(relation.ReasonOptedOut,
			fmt.Sprintf("the pods of %s opt out of injection and get no data: remove %s=false or the relation", requirer.Name,
				application.KeyInject))
	case r.Peer():
		return condition.Settled(relation.ReasonComplete,
			fmt.Sprintf("the units of %s are related on %s", r.Requirer.Application, r.Requirer.Endpoint))
	}
	if cs := j.unfitting(r); cs != nil {
		return cs
	}
	return completeness(j.contents, r)
}

func gone(reason, side string) []condition.Condition {
	return condition.Waiting(reason, side+" does not exist any more: create it again or end the relation")
}

// qualified returns the conditions of a relation whose data is complete, with what else
// there is to know of it as the reason.
func (j judging) qualified(r relation.Relation, complete, held, violated []condition.Condition) []condition.Condition {
	over := j.limits.over(r)
	switch why, _ := condition.Find(held, condition.Held); {
	case why.True:
		return condition.Settled(why.Reason, "the relation works but is held: see condition Held")
	case over != "":
		return condition.Settled(relation.ReasonOverLimit, "the relation works but is over a limit that was lowered: "+over)
	case !j.units.present(r.Requirer, true):
		return condition.Settled(relation.ReasonNoUnit,
			fmt.Sprintf("the data is complete, but no pod of %s has an agent yet", r.Requirer.Application))
	}
	if len(violated) > 0 {
		return condition.Settled(string(condition.SchemaViolated), "the relation works, but see condition SchemaViolated")
	}
	return complete
}

// unfitting returns the conditions of a manual relation that was related and fits no more; none if it fits. Nothing
// ends it (SAFETY.md M8).
func (j judging) unfitting(r relation.Relation) []condition.Condition {
	if r.Peer() {
		return nil
	}
	message, first := j.disagreement(r), r
	if message == "" {
		first, _ = j.limits.relations.first(r.Key)
	}
	switch {
	case message == "" && first.UID == r.UID, !r.Manual():
		return nil
	case message != "":
		return condition.Stuck(relation.ReasonNoMatch, message)
	default:
		return condition.Stuck(relation.ReasonRelated, alreadyRelated(first))
	}
}

// works reports whether a relation is such that handlers are called for it: it lives, both
// of its sides are there and may see each other, and its requirer has agents.
func (j judging) works(r relation.Relation) bool {
	requirer, there := j.app(r.Requirer)
	_, provider := j.app(r.Provider)
	return r.State.EndReason == "" && r.Open() && there && provider && !requirer.OptedOut()
}

// notOptedIn returns the message that a namespace has not opted in, with the command that helps.
func notOptedIn(namespace string) string {
	return fmt.Sprintf("namespace %s has not opted in: %s", namespace, application.OptIn(namespace))
}

// completeness says whether the requirer has what it needs: what the interface marks
// as ready in the provider's bag, and without an interface that is known, or one
// that marks nothing, anything at all (SAFETY.md V5); and what the provider would grant.
func completeness(c contents, r relation.Relation) []condition.Condition {
	bag := c.in(r, r.Provider)
	missing, unasked := c.missing(r, r.Provider, bag), []string(nil)
	key, waits := c.ungranted(r, r.Provider)
	if waits && !slices.Contains(missing, key) {
		missing = append(missing, key)
	}
	if len(missing) > 0 {
		unasked = c.missing(r, r.Requirer, c.in(r, r.Requirer))
	}
	reason, what := relation.ReasonMissing, strings.Join(missing, ", ")
	switch {
	case len(bag) == 0 && len(missing) == 0:
		reason, what = relation.ReasonNoData, "data"
	case len(bag) == 0:
		reason = relation.ReasonNoData
	case len(missing) == 0:
		return condition.Settled(relation.ReasonComplete, fmt.Sprintf("%s has the data that it needs from %s", r.Requirer,
			r.Provider.Written(c.Namespace)))
	}
	text := fmt.Sprintf("%s has not provided %s yet", r.Provider.Written(c.Namespace), what)
	if len(unasked) > 0 {
		text += fmt.Sprintf("; %s must set %s first", r.Requirer, strings.Join(unasked, ", "))
	}
	// Consumers do not learn what is wrong with a Secret (SAFETY.md M7).
	if waits && r.Provider.Namespace == c.Namespace && len(c.grantRefused(r.Provider.Application)) > 0 {
		text += fmt.Sprintf("; see condition GrantRefused of RelatedApplication %s", r.Provider.Application)
	}
	if a, here := c.app(r.Provider); here && len(bag) == 0 && r.Provider.Namespace == c.Namespace && slices.Equal(missing, []string{"host"}) {
		text += fmt.Sprintf("; no Service of %s declares the endpoint, which would provide host", a.Name)
	}
	switch says := r.State.ProviderStatus; {
	case says.Said():
		text += fmt.Sprintf("; its status: %s", says.Text())
	case r.Provider.Namespace == c.Namespace && c.idle(r.Provider):
		text += fmt.Sprintf("; %s has no pod with handlers: start one", r.Provider.Application)
	case what == "data" && r.Provider.Namespace == c.Namespace:
		text += fmt.Sprintf("; annotate %s with %s%s, or call relation-set in its pods", r.Provider.Application, application.PrefixData,
			r.Provider.Endpoint)
	}
	return condition.Waiting(reason, text)
}

// idle reports whether handlers of an end would write, and none of its pods runs them.
func (c contents) idle(e relation.End) bool {
	a, _ := c.app(e)
	does := func(p application.Pod) bool { return !p.Ending && application.HearsOfEvents(p.Annotations) }
	return c.handled(e) && !slices.ContainsFunc(a.Pods, does)
}

// handled reports whether pods of an end have handlers, which would write.
func (c contents) handled(e relation.End) bool {
	a, _ := c.app(e)
	return slices.ContainsFunc(a.Workloads, func(w application.Workload) bool { return application.HearsOfEvents(w.TemplateAnnotations) })
}

// missing lists the fields that make a side ready and that its bag lacks.
func (c contents) missing(r relation.Relation, e relation.End, bag map[string]string) []string {
	if c.Schema == schema.Off {
		return nil
	}
	i, known := c.Interfaces.Find(r.Interface, r.Version)
	if !known {
		return nil
	}
	return i.Missing(r.Role(e), true, bag)
}
