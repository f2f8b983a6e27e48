package relation

import (
	"cmp"
	"fmt"
	"reflect"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/spelling"
)

// refusal is a manual relation that cannot be, and the reason.
type refusal struct {
	Relation
	Obstacle
}

// manual reports whether a person or a tool made the relation. A declared one has the
// name of its pair: origin Declared, written by hand, is no way around the checks.
func (r Relation) manual() bool { return !r.Declared || r.Name != r.Key.Name() }

// admit checks each manual relation without an id as if an annotation named its ends.
// One that does not fit gets no id, so that no unit sees it and it opens no gate; its
// status has the reason. It is checked again at each look.
func (n *negotiation) admit() {
	for _, r := range n.Relations {
		if r.State.ID > 0 || !r.manual() {
			continue
		}
		if o := n.misfit(r); o != nil {
			n.refused = append(n.refused, refusal{r, *o})
		} else {
			n.add(r)
		}
	}
}

// misfit returns why a new manual relation cannot be; nil if it can (RELATIONS.md M1,
// M3, M4, M6).
func (n *negotiation) misfit(r Relation) *Obstacle {
	stuck := func(reason, message string) *Obstacle {
		return &Obstacle{Reason: reason, Message: message, Stuck: true}
	}
	switch {
	case !r.Deleted.IsZero():
		return stuck(ReasonEnding, "the Relation is being deleted")
	case n.OptedOut:
		return stuck(ReasonOptedOut, notOptedIn(n.Namespace))
	}
	for _, e := range r.ends() {
		if o := n.absent(e); o != nil {
			return o
		}
	}
	if message := cmp.Or(n.disagreement(r), n.versionsDiffer(r)); message != "" {
		return stuck(ReasonNoMatch, message)
	}
	if first, related := n.first(r.Key); related {
		return stuck(ReasonRelated, alreadyRelated(first))
	}
	if message := n.full(r.Key); message != "" {
		return stuck(ReasonLimit, message)
	}
	return nil
}

// disagreement returns why the ends of a manual relation, whose applications exist, do
// not fit; empty if they do. Versions concern new relations only (SAFETY.md M8).
func (d *directory) disagreement(r Relation) string {
	if r.Requirer.Namespace == r.Provider.Namespace && r.Requirer.Application == r.Provider.Application {
		return fmt.Sprintf("%s does not relate to itself: peer relations come from %s alone", r.Requirer.Application, application.KeyPeers)
	}
	for _, e := range r.ends() {
		if a := d.applicationOf(e); !declares(a, e.Endpoint) {
			return lacks(end{e.Namespace, a}, e.Endpoint)
		}
	}
	requirer, provider := d.siteOf(r.Requirer), d.siteOf(r.Provider)
	if requirer.Role == application.Requirer && provider.Role == application.Provider &&
		requirer.Interface == provider.Interface && requirer.Interface == r.Interface {
		return ""
	}
	mine, theirs := requirer.written(d.namespace), provider.written(d.namespace)
	switch {
	case requirer.Role == application.Provider && provider.Role == application.Requirer:
		return fmt.Sprintf("%s and %s: swap requirer and provider", mine, theirs)
	case requirer.Role != application.Requirer:
		return mine + ", but the requirer of a relation must require"
	case provider.Role != application.Provider:
		return theirs + ", but the provider of a relation must provide"
	case requirer.Interface != provider.Interface:
		return mine + ", but " + theirs
	default:
		return fmt.Sprintf("the Relation names interface %s, but %s: delete it and create it with interface %s", r.Interface,
			mine, requirer.Interface)
	}
}

// versionsDiffer returns why the ends and the object agree on no interface version;
// empty if they do.
func (d *directory) versionsDiffer(r Relation) string {
	requirer, provider := d.siteOf(r.Requirer), d.siteOf(r.Provider)
	version, common := commonVersion(requirer.Version, provider.Version)
	if !common {
		return requirer.written(d.namespace) + ", but " + provider.written(d.namespace)
	}
	if _, common = commonVersion(version, r.Version); common {
		return ""
	}
	names := provider
	if provider.Version != version {
		names = requirer
	}
	return fmt.Sprintf("the Relation names version %d of %s, but %s: delete it and create it with interfaceVersion %d",
		r.Version, r.Interface, names.written(d.namespace), version)
}

// written returns for example blog:store requires pg@1.
func (s site) written(namespace string) string {
	text := fmt.Sprintf("%s %s %s", s.Written(namespace), s.Role, s.Interface)
	if s.Version > 0 {
		text += fmt.Sprintf("@%d", s.Version)
	}
	return text
}

func declares(a application.Application, endpoint string) bool {
	_, there := a.Endpoint(endpoint)
	return there
}

// lacks names the endpoints of an application that lacks one, and the nearest.
func lacks(e end, name string) string {
	text := fmt.Sprintf("%s has no endpoint %s: it %s", e.Name, name, offers(e))
	var known []string
	for _, endpoint := range e.Endpoints {
		known = append(known, endpoint.Name)
	}
	if near := spelling.Nearest(name, known); near != "" {
		text += "; did you mean " + near + "?"
	}
	return text
}

func alreadyRelated(first Relation) string {
	return fmt.Sprintf("Relation %s already relates %s and %s: delete this one", first.Name, first.Requirer, first.Provider)
}

// unfitting returns the conditions of a manual relation that has an id and fits no more;
// none if it fits. Nothing ends it (SAFETY.md M8).
func (n *negotiation) unfitting(r Relation) []condition.Condition {
	if r.State.ID == 0 || r.Peer() {
		return nil
	}
	message, first := n.disagreement(r), r
	if message == "" {
		first, _ = n.first(r.Key)
	}
	switch {
	case message == "" && first.UID == r.UID, !r.manual():
		return nil
	case message != "":
		return condition.Stuck(ReasonNoMatch, message)
	default:
		return condition.Stuck(ReasonRelated, alreadyRelated(first))
	}
}

// judgeRefused writes the status of each refused relation, tells its requirer what it
// waits for, and releases those that are deleted: no unit knows them.
func (n *negotiation) judgeRefused() {
	for _, f := range n.refused {
		if !f.Deleted.IsZero() {
			n.ends = append(n.ends, Release{f.Relation})
			continue
		}
		r := f.Relation
		r.State.Status = Joining
		r.State.Conditions = condition.Waiting(f.Reason, f.Message)
		if f.Stuck {
			r.State.Status = Failed
			r.State.Conditions = condition.Stuck(f.Reason, f.Message)
		}
		if !reflect.DeepEqual(r.State, f.State) {
			n.updates = append(n.updates, Update{r})
		}
		if f.Requirer != f.Provider {
			o := Obstacle{Reason: f.Reason, Message: fmt.Sprintf("Relation %s: %s", f.Name, f.Message)}
			o.Reference = application.Reference{Endpoint: f.Requirer.Endpoint, Application: f.Provider.Application,
				RemoteEndpoint: f.Provider.Endpoint}
			n.obstacles[f.Requirer.Application] = append(n.obstacles[f.Requirer.Application], o)
		}
	}
}
