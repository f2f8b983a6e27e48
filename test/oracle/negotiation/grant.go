package negotiation

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// Grant is a Secret of somebody's that an endpoint gives by reference: the bag says
// where it is read, and it is read where it lies (SAFETY.md S1).
type Grant struct {
	Endpoint string
	// Secret is its name, in the application's namespace.
	Secret string
	// Key is the one of the bag under which the reference stands.
	Key string
	// Version is the Secret's as it was seen last, and Revision counts them; 0 for one
	// that was never granted.
	Version  string
	Revision int
	// Refused says that the Secret is not granted now.
	Refused bool
}

// reaches reports whether an end's Secret is granted in a relation that is open. Across
// namespaces the Offer must list it too, which only a provider's can.
func (g Grant) reaches(r Relation, e End, lent []string) bool {
	return g.Revision > 0 && !g.Refused && (!r.Abroad() || e == r.Provider && slices.Contains(lent, g.Secret))
}

// layer is what a grant puts above all else that its end says.
func (g Grant) layer(e End) map[string]string {
	return map[string]string{g.Key: secret.Reference(secret.GrantedID(e.Namespace, e.Application, e.Endpoint))}
}

// Granted returns what an end of a relation grants to the other side, of what its
// application does; false for nothing. Of another namespace it needs Under.
func (r Relation) Granted(e End, grants []Grant) (Grant, bool) {
	i := slices.IndexFunc(grants, func(g Grant) bool { return g.Endpoint == e.Endpoint })
	if i < 0 || !r.Open() || r.Peer() {
		return Grant{}, false
	}
	return grants[i], grants[i].reaches(r, e, r.lent)
}

// grant decides which Secrets the applications of the namespace grant. What a record
// grants by an endpoint that nobody declares any more goes on while a relation is about
// it, as its data does (SAFETY.md L5).
func (n *negotiation) grant() {
	for name := range n.apps {
		n.grantBy(name)
	}
	for _, r := range n.Records {
		if _, there := n.apps[r.Name]; !there {
			n.grantBy(r.Name)
		}
	}
}

func (n *negotiation) grantBy(name string) {
	a := n.apps[name]
	secrets := maps.Clone(a.Secrets)
	if secrets == nil {
		secrets = map[string]string{}
	}
	for _, g := range n.record(End{Namespace: n.Namespace, Application: name}).State.Grants {
		_, declared := a.Endpoint(g.Endpoint)
		if _, named := secrets[g.Endpoint]; !named && !declared && n.inUse(End{n.Namespace, name, g.Endpoint}) {
			secrets[g.Endpoint] = g.Secret
		}
	}
	for _, endpoint := range slices.Sorted(maps.Keys(secrets)) {
		n.judgeGrant(End{n.Namespace, name, endpoint}, secrets[endpoint])
	}
	if len(secrets) > 0 && !n.LookAgain.IsZero() {
		n.wakeAt(n.LookAgain)
	}
}

// judgeGrant notes what becomes of one Secret. Another version, also of another
// Secret, is another revision.
func (n *negotiation) judgeGrant(e End, name string) {
	g := Grant{Endpoint: e.Endpoint}
	for _, was := range n.record(e).State.Grants {
		if was.Endpoint == e.Endpoint {
			g = was
		}
	}
	source, seen := n.sources[name]
	if !seen {
		source = secret.Source{Namespace: n.Namespace, Name: name, Sight: secret.Missing}
	}
	reason, message := source.Refusal(e.Application, e.Endpoint, n.Account)
	if g.Refused = reason != ""; g.Refused {
		n.refusals[e.Application] = append(n.refusals[e.Application], application.Fault{Reason: reason, Message: e.Endpoint + ": " + message})
	} else if g.Version != source.Version {
		g.Version = source.Version
		g.Revision++
	}
	g.Secret = name
	if endpoint, declared := n.apps[e.Application].Endpoint(e.Endpoint); declared || g.Key == "" {
		g.Key = n.referenceKey(endpoint)
	}
	n.grants[e] = g
	n.granted[e.Application] = append(n.granted[e.Application], g)
}

// referenceKey is the key under which a reference stands: the only field that the
// interface calls secret, or the only one of several that must be there, else secret.
func (n *negotiation) referenceKey(e application.Endpoint) string {
	i, _ := n.Interfaces.Find(e.Interface, e.Version)
	fields := i.Bag(e.Role, true).Secrets()
	if len(fields) > 1 {
		required := i.Missing(e.Role, true, nil)
		fields = slices.DeleteFunc(fields, func(f string) bool { return !slices.Contains(required, f) })
	}
	if len(fields) == 1 {
		return fields[0]
	}
	return "secret"
}

// grantIn returns what an end grants to the other side of a relation.
func (n *negotiation) grantIn(r Relation, e End) (Grant, bool) {
	g, there := n.grants[e]
	return g, there && !r.Peer() && g.reaches(r, e, n.lent[e])
}

// ungranted returns the key under which an end would refer to its Secret in a relation,
// if only that Secret is not granted now: who starts without it could do nothing.
func (n *negotiation) ungranted(r Relation, e End) (key string, waits bool) {
	g, there := n.grants[e]
	if !there || !g.Refused {
		return "", false
	}
	g.Refused, g.Revision = false, 1
	return g.Key, g.reaches(r, e, n.lent[e])
}

// versionIn tells apart what the provider of a relation gives, also what lies in its
// Secret.
func (n *negotiation) versionIn(r Relation) string {
	bag := n.bagIn(r, r.Provider)
	if g, granted := n.grantIn(r, r.Provider); granted {
		bag = databag.Overlay(bag, map[string]string{g.Key: bag[g.Key] + "/" + strconv.Itoa(g.Revision)})
	}
	return databag.Version(bag)
}

// grantRefused tells an application, and nobody else, which consent is missing and the
// command that gives it: who consumes learns nothing of its Secrets (SAFETY.md M7).
func (n *negotiation) grantRefused(name string) []condition.Condition {
	refused := slices.Clone(n.refusals[name])
	for _, g := range n.granted[name] {
		for _, o := range n.Offers {
			if o.Application == name && o.Endpoint == g.Endpoint && n.withholds(o, g) {
				refused = append(refused, application.Fault{Reason: ReasonNoOffer, Message: g.Endpoint + ": " + o.withholding(g.Secret)})
			}
		}
	}
	if len(refused) == 0 {
		return nil
	}
	var all []string
	for _, f := range refused {
		all = append(all, f.Message)
	}
	return leftOut(condition.GrantRefused, refused[0].Reason, "", all)
}

// withholds reports whether a relation is open by an Offer and does not get what is
// granted, because no Offer lists it.
func (n *negotiation) withholds(o Offer, g Grant) bool {
	return !g.Refused && slices.ContainsFunc(n.Consumers, func(r Relation) bool {
		r = r.Under(n.Offers)
		return r.Open() && r.State.Offer == o.Name && r.Provider == End{o.Namespace, o.Application, o.Endpoint} && !g.reaches(r, r.Provider, r.lent)
	})
}

// withholding says how the Offer lists a Secret too.
func (o Offer) withholding(name string) string {
	all := strings.Join(append(slices.Clone(o.Secrets), name), `","`)
	return fmt.Sprintf(`Offer %s does not list Secret %s: kubectl patch offer %s -n %s --type merge -p '{"spec":{"secrets":["%s"]}}'`, o.Name, name, o.Name, o.Namespace, all)
}
