package negotiation

import (
	"cmp"
	"fmt"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/spelling"
)

// refusal is a manual relation that cannot be, and the reason.
type refusal struct {
	relation.Relation
	relation.Obstacle
}

// admit returns the relations that can be, and those that cannot. It checks each manual relation without an id as if
// an annotation named its ends. One that does not fit gets no id, so that no unit sees it and it opens no gate; its
// status has the reason. It is checked again at each look.
func admit(f *facts) (relations, []refusal) {
	isNew := func(r relation.Relation) bool { return r.State.ID == 0 && r.Manual() && !f.unreadable.relation(r) }
	admitted := newRelations(f.Namespace, len(f.Relations), f.Consumers)
	for _, r := range f.Relations {
		if !isNew(r) {
			admitted.add(r)
		}
	}
	var refused []refusal
	for _, r := range f.Relations {
		if !isNew(r) {
			continue
		}
		switch o := misfit(f, &admitted, r); {
		case o != nil:
			refused = append(refused, refusal{r, *o})
		case !admitted.inherit(r):
			admitted.add(r)
		}
	}
	return admitted, refused
}

// misfit returns why a new manual relation cannot be; nil if it can (RELATIONS.md M1,
// M3, M4, M6).
func misfit(f *facts, known *relations, r relation.Relation) *relation.Obstacle {
	stuck := func(reason, message string) *relation.Obstacle {
		return &relation.Obstacle{Reason: reason, Message: message, Stuck: true}
	}
	if !r.Deleted.IsZero() {
		return stuck(relation.ReasonEnding, "the Relation is being deleted")
	}
	first, related := known.first(r.Key)
	heir := related && first.Bequeaths(f.Now) && sameTerms(first, r)
	var lacking *relation.Obstacle // what may come and go
	if f.OptedOut {
		lacking = stuck(relation.ReasonOptedOut, notOptedIn(f.Namespace))
	}
	for _, e := range r.Ends() {
		lacking = cmp.Or(lacking, f.absent(e))
	}
	switch {
	case lacking != nil && !heir: // an existing relation outlives that
		return lacking
	case lacking == nil:
		if message := cmp.Or(f.disagreement(r), f.versionsDiffer(r)); message != "" {
			return stuck(relation.ReasonNoMatch, message)
		}
	}
	switch {
	case related && !heir:
		return stuck(relation.ReasonRelated, follows(f.Now, first, r))
	case heir && !first.Deleted.IsZero():
		return nil // it has the place of the first, while one that is held may have lost it
	}
	if message := (limits{f, known}).full(r.Key); message != "" {
		return stuck(relation.ReasonLimit, message)
	}
	return nil
}

// sameTerms reports whether what was said by one relation is data of the other: they have one interface, and versions that
// do not differ.
func sameTerms(a, b relation.Relation) bool {
	_, common := commonVersion(a.Version, b.Version)
	return a.Interface == b.Interface && common
}

// disagreement returns why the ends of a manual relation, whose applications exist, do
// not fit; empty if they do. Versions concern new relations only (SAFETY.md M8).
func (d *directory) disagreement(r relation.Relation) string {
	if r.Requirer.Namespace == r.Provider.Namespace && r.Requirer.Application == r.Provider.Application {
		return fmt.Sprintf("%s does not relate to itself: peer relations come from %s alone", r.Requirer.Application, application.KeyPeers)
	}
	for _, e := range r.Ends() {
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
func (d *directory) versionsDiffer(r relation.Relation) string {
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
	text := fmt.Sprintf("%s has no endpoint %s: it %s", e.Name, name, offersOf(e))
	var known []string
	for _, endpoint := range e.Endpoints {
		known = append(known, endpoint.Name)
	}
	if near := spelling.Nearest(name, known); near != "" {
		text += "; did you mean " + near + "?"
	}
	return text
}

func alreadyRelated(first relation.Relation) string {
	return taken(first) + ": delete this one"
}

func taken(first relation.Relation) string {
	return fmt.Sprintf("Relation %s already relates %s and %s", first.Name, first.Requirer, first.Provider)
}

// follows returns what becomes of a relation whose pair another one has.
func follows(now time.Time, first, r relation.Relation) string {
	undeclared := first.State.HeldReason == relation.ReasonDeclarationGone
	switch {
	case first.Ended(), first.Bequeaths(now), undeclared && !sameTerms(first, r):
		return taken(first) + ": this one begins when that has ended"
	case undeclared:
		return taken(first) + ", and nothing declares that any more: this one goes on in its place at " +
			relation.HeldUntil(first.State).UTC().Format(time.RFC3339)
	default:
		return alreadyRelated(first)
	}
}

// state returns the state of a refused relation, which has nothing else of its own.
func (f refusal) state() (is relation.State) {
	is.Status, is.Conditions = relation.Joining, condition.Waiting(f.Reason, f.Message)
	if f.Stuck {
		is.Status, is.Conditions = relation.Failed, condition.Stuck(f.Reason, f.Message)
	}
	return is
}

// obstacle returns the obstacle that the requirer of a refused relation sees.
func (f refusal) obstacle() relation.Obstacle {
	ref := application.Reference{Endpoint: f.Requirer.Endpoint, Application: f.Provider.Application, RemoteEndpoint: f.Provider.Endpoint}
	return relation.Obstacle{Reference: ref, Reason: f.Reason, Message: fmt.Sprintf("Relation %s: %s", f.Name, f.Message)}
}
