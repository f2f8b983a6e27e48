package negotiation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// contents says what the ends of relations give each other: bags, and the Secrets that
// they grant.
type contents struct {
	*facts
	grants
}

// bag returns the bag that all relations of an endpoint share: the declared one, or the last one
// where nothing declares the endpoint any more.
func (c contents) bag(e relation.End) map[string]string {
	if e.Namespace != c.Namespace {
		return c.stored[e].Data
	}
	a := c.apps[e.Application]
	if bag, ok := a.Bags[e.Endpoint]; ok && declares(a, e.Endpoint) {
		return bag
	}
	return c.stored[e].Data
}

// in returns an application's bag as the other side of a relation sees it: what its
// leader wrote there over the shared bag (SAFETY.md V5), and above all the
// reference to what it grants (SAFETY.md S1). As long as no Offer covers the relation
// nothing is seen of another namespace.
func (c contents) in(r relation.Relation, e relation.End) map[string]string {
	if e.Namespace != c.Namespace && !r.Open() {
		return nil
	}
	bag := databag.Overlay(c.bag(e), c.said[speaker{r.UID, e.Namespace, e.Application}])
	if g, granted := c.grantIn(r, e); granted {
		bag = databag.Overlay(bag, g.Layer(e))
	}
	return bag
}

// grantIn returns what an end grants to the other side of a relation.
func (c contents) grantIn(r relation.Relation, e relation.End) (relation.Grant, bool) {
	g, there := c.byEnd[e]
	return g, there && !r.Peer() && g.Reaches(r, e, c.lent[e])
}

// ungranted returns the key under which an end would refer to its Secret in a relation,
// if only that Secret is not granted now: without it a consumer cannot work.
func (c contents) ungranted(r relation.Relation, e relation.End) (key string, waits bool) {
	g, there := c.byEnd[e]
	if !there || !g.Refused {
		return "", false
	}
	g.Refused, g.Revision = false, 1
	return g.Key, g.Reaches(r, e, c.lent[e])
}

// versionIn tells apart what the provider of a relation gives, also what lies in its
// Secret.
func (c contents) versionIn(r relation.Relation) string {
	bag := c.in(r, r.Provider)
	if g, granted := c.grantIn(r, r.Provider); granted {
		bag = databag.Overlay(bag, map[string]string{g.Key: bag[g.Key] + "/" + strconv.Itoa(g.Revision)})
	}
	return databag.Version(bag)
}

// grantRefused returns why Secrets of an application are not granted, with the command that
// gives the consent. Only the application shows it: consumers learn nothing of its Secrets
// (SAFETY.md M7).
func (c contents) grantRefused(name string) []condition.Condition {
	refused := slices.Clone(c.refusals[name])
	for _, g := range c.of[name] {
		for _, o := range c.Offers {
			if o.Application == name && o.Endpoint == g.Endpoint && c.withholds(o, g) {
				message := g.Endpoint + ": " + withholding(o, g.Secret)
				refused = append(refused, application.Fault{Reason: relation.ReasonNoOffer, Message: message})
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
func (c contents) withholds(o relation.Offer, g relation.Grant) bool {
	return !g.Refused && slices.ContainsFunc(c.Consumers, func(r relation.Relation) bool {
		r = r.Under(c.Offers, offers{c.facts}.uid)
		_, granted := r.Granted(r.Provider, []relation.Grant{g})
		return r.Open() && r.State.Offer == o.Name && r.Provider == o.End() && !granted
	})
}

// withholding returns the command by which an Offer lists a Secret too.
func withholding(o relation.Offer, name string) string {
	all := strings.Join(append(slices.Clone(o.Secrets), name), `","`)
	return fmt.Sprintf(`Offer %s does not list Secret %s: kubectl patch offer %s -n %s --type merge -p '{"spec":{"secrets":["%s"]}}'`,
		o.Name, name, o.Name, o.Namespace, all)
}
