package negotiation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
)

// spoken is a bag that is said to everybody, by the interface that it is judged by.
type spoken struct {
	End
	name    string
	version int
}

// withhold takes secrets in plain text out of what an application declares: who
// wrote them before the interface was known, or while no webhook was there, is
// told, and they enter no bag (RELATIONS.md P5).
func (n *negotiation) withhold(a application.Application) application.Application {
	if n.Schema == schema.Off {
		return a
	}
	bags, faults := maps.Clone(a.Bags), []application.Fault(nil)
	for _, e := range a.Endpoints {
		i, known := n.Interfaces.Find(e.Interface, e.Version)
		if !known || bags[e.Name] == nil {
			continue
		}
		kept, withheld := i.Withhold(e.Role, true, bags[e.Name])
		bags[e.Name] = kept
		for _, v := range withheld {
			faults = append(faults, application.Fault{Application: a.Name, Object: a.Name, Reason: application.ReasonInvalid,
				Message: fmt.Sprintf("%s%s: left out: %s", application.PrefixData, e.Name, v.Declared(e.Name).Error())})
		}
	}
	if len(faults) > 0 {
		a.Bags, a.Faults = bags, slices.Concat(a.Faults, faults)
	}
	return a
}

// completeness says whether the requirer has what it needs: what the interface marks
// as ready in the provider's bag, and without an interface that is known, or one
// that marks nothing, anything at all (SAFETY.md V5); and what the provider would grant.
func (n *negotiation) completeness(r Relation) []condition.Condition {
	bag := n.bagIn(r, r.Provider)
	missing, unasked := n.missing(r, r.Provider, bag), []string(nil)
	key, waits := n.ungranted(r, r.Provider)
	if waits && !slices.Contains(missing, key) {
		missing = append(missing, key)
	}
	if len(missing) > 0 {
		unasked = n.missing(r, r.Requirer, n.bagIn(r, r.Requirer))
	}
	reason, what := ReasonMissing, strings.Join(missing, ", ")
	switch {
	case len(bag) == 0 && len(missing) == 0:
		reason, what = ReasonNoData, "data"
	case len(bag) == 0:
		reason = ReasonNoData
	case len(missing) == 0:
		return condition.Settled(ReasonComplete, fmt.Sprintf("%s has the data that it needs from %s", r.Requirer,
			r.Provider.Written(n.Namespace)))
	}
	text := fmt.Sprintf("%s has not provided %s yet", r.Provider.Written(n.Namespace), what)
	if len(unasked) > 0 {
		text += fmt.Sprintf("; %s must set %s first", r.Requirer, strings.Join(unasked, ", "))
	}
	// What is wrong with a Secret is not for who consumes (SAFETY.md M7).
	if waits && r.Provider.Namespace == n.Namespace && len(n.grantRefused(r.Provider.Application)) > 0 {
		text += fmt.Sprintf("; see condition GrantRefused of RelatedApplication %s", r.Provider.Application)
	}
	if a, here := n.app(r.Provider); here && len(bag) == 0 && r.Provider.Namespace == n.Namespace && slices.Equal(missing, []string{"host"}) {
		text += fmt.Sprintf("; no Service of %s declares the endpoint, which would provide host", a.Name)
	}
	switch says := r.State.ProviderStatus; {
	case says.Said():
		text += fmt.Sprintf("; its status: %s", says.Text())
	case what == "data" && r.Provider.Namespace == n.Namespace:
		text += fmt.Sprintf("; annotate %s with %s%s, or call relation-set in its pods", r.Provider.Application, application.PrefixData,
			r.Provider.Endpoint)
	}
	return condition.Waiting(reason, text)
}

// missing lists the fields that make a side ready and that its bag lacks.
func (n *negotiation) missing(r Relation, e End, bag map[string]string) []string {
	if n.Schema == schema.Off {
		return nil
	}
	i, known := n.Interfaces.Find(r.Interface, r.Version)
	if !known {
		return nil
	}
	return i.Missing(r.role(e), true, bag)
}

// role returns the part that an end plays.
func (r Relation) role(e End) application.Role {
	switch {
	case r.Peer():
		return application.Peer
	case e == r.Requirer:
		return application.Requirer
	default:
		return application.Provider
	}
}

// violated names what does not fit the relation's interface: the side, the field
// and the cure, and never a value.
func (n *negotiation) violated(r Relation) []condition.Condition {
	i, known := n.Interfaces.Find(r.Interface, r.Version)
	if !known || n.Schema == schema.Off || r.State.EndReason != "" {
		return nil
	}
	var told []string
	for _, e := range slices.Compact([]End{r.Requirer, r.Provider}) {
		if e.Namespace == n.Namespace {
			told = append(told, n.toldOf(r, e, i)...)
		}
	}
	if len(told) == 0 {
		return nil
	}
	return []condition.Condition{{Type: condition.SchemaViolated, True: true, Reason: ReasonViolated, Message: listed(told)}}
}

// toldOf says what is wrong with the bags of one side.
func (n *negotiation) toldOf(r Relation, e End, i schema.Interface) []string {
	var told []string
	written := n.said[speaker{r.UID, e.Namespace, e.Application}]
	for _, v := range n.unfit(r, e, i) {
		told = append(told, fmt.Sprintf("%s: %s; %s", e, v.Declared(e.Endpoint).Error(), mend(e, v.Path, written)))
	}
	for _, b := range n.saidByUnits[speaker{r.UID, e.Namespace, e.Application}] {
		if b.Endpoint != e.Endpoint {
			continue
		}
		for _, v := range i.Check(r.role(e), false, b.Data) {
			told = append(told, fmt.Sprintf("%s/%s on %s: %s", e.Application, b.Unit, e.Endpoint, v.Error()))
		}
	}
	return told
}

// mend returns where the value at a path is corrected.
func mend(e End, path string, written map[string]string) string {
	field, _, _ := strings.Cut(path, "/")
	if written[field] != "" {
		return fmt.Sprintf("correct it in the handlers of %s, which wrote it", e.Application)
	}
	return fmt.Sprintf("correct it in %s%s of %s", application.PrefixData, e.Endpoint, e.Application)
}

// unfit returns what is wrong with an application's bag in a relation. What is said
// to everybody is looked at once, however many relations it is in.
func (n *negotiation) unfit(r Relation, e End, i schema.Interface) []schema.Violation {
	if len(n.said[speaker{r.UID, e.Namespace, e.Application}]) > 0 {
		return i.Check(r.role(e), true, n.bagIn(r, e))
	}
	key := spoken{e, i.Name, i.Version}
	found, seen := n.fits[key]
	if !seen {
		found = i.Check(r.role(e), true, n.bag(e))
		n.fits[key] = found
	}
	return found
}
