package bundle

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Grant is a permission that a plan gives and that the state before it did not give (BUNDLES.md 9). The subject may
// have it from elsewhere.
type Grant struct {
	// To names the subject in words: "ServiceAccount shop/web".
	To string
	// Rule is the permission, in Namespace alone; in all where that is empty.
	Rule      Rule
	Namespace string
	// Bound reports that the grant counts only where a subject is bound to the role, which is not looked up.
	Bound bool
	// Role is the role that allows it. Unknown reports that it could not be read.
	Role    ID
	Unknown bool
}

// Everything reports whether the grant is all that there is to give, everywhere.
func (g Grant) Everything() bool { return g.Rule.everything() && g.Namespace == "" && !g.Bound }

// String says who may do what, where, and by which role.
func (g Grant) String() string {
	role := g.Role.Kind + " " + g.Role.Name
	where := "in every namespace"
	switch {
	case g.Namespace != "":
		where = "in namespace " + g.Namespace
	case g.Bound:
		where = "wherever they are bound"
	case g.Rule.everything(), len(g.Rule.URLs) > 0:
		where = "everywhere"
	}
	if g.Unknown {
		return fmt.Sprintf("%s may now do what %s allows, which cannot be read, %s", g.To, role, where)
	}
	comma := ""
	if g.Everything() {
		comma = ","
	}
	return fmt.Sprintf("%s may now %s%s %s (%s)", g.To, g.Rule, comma, where, role)
}

// The kinds of who may do what.
const (
	rbac        = "rbac.authorization.k8s.io"
	role        = "Role"
	clusterRole = "ClusterRole"
)

// granting works out the grants of a plan.
type granting struct {
	live map[ID]Live
	// wanted are the roles of the bundle.
	wanted map[ID]Object
	found  []Grant
	// compared is about how many things were compared, and matched how often a role was matched with a selector.
	compared, matched int
}

// grants returns the grants of a plan, ordered by subject, then by role.
func (d *drafting) grants() []Grant {
	g := granting{live: d.Live, wanted: map[ID]Object{}}
	for _, item := range d.plan.Sequence {
		if item.ID.Group == rbac {
			g.wanted[item.ID] = item.Object
		}
	}
	for _, item := range d.plan.Sequence {
		switch item.ID.kind() {
		case "RoleBinding." + rbac, "ClusterRoleBinding." + rbac:
			g.binding(item)
			d.bound(item)
		case role + "." + rbac, clusterRole + "." + rbac:
			g.role(item)
			if of := selectors(item.Object); len(of) > 0 && !reflect.DeepEqual(of, selectors(d.Live[item.ID].Object)) {
				d.unverified(item.ID, Roles, "it has the rules of ClusterRoles by their labels, also of others")
			}
		}
	}
	slices.SortStableFunc(g.found, func(a, b Grant) int {
		return cmp.Or(cmp.Compare(a.To, b.To), cmp.Compare(a.Namespace, b.Namespace), a.Role.Compare(b.Role))
	})
	return slices.CompactFunc(g.found, func(a, b Grant) bool { return a.String() == b.String() })
}

// binding adds what the subjects of a binding get.
func (g *granting) binding(item Item) {
	of, was := refers(item.Object), g.live[item.ID].Object
	after, known := g.rules(of)
	fresh := map[bool][]Rule{}
	if known { // once for all subjects
		fresh[false], fresh[true] = g.widened(nil, after), g.widened(rules(g.live[refers(was)].Object), after)
	}
	before := map[string]bool{}
	for _, subject := range subjects(was) {
		before[subject] = true
	}
	for _, subject := range subjects(item.Object) {
		had := before[subject]
		switch {
		case known:
			g.add(Grant{To: subject, Namespace: item.ID.Namespace, Role: of}, fresh[had])
		case !had || refers(was) != of:
			g.found = append(g.found, Grant{To: subject, Namespace: item.ID.Namespace, Role: of, Unknown: true})
		}
	}
}

// role adds the grants that others get by a role: the subjects of bindings outside the bundle and of the bundle
// before, and those whose role aggregates it by its labels.
func (g *granting) role(item Item) {
	before := rules(g.live[item.ID].Object)
	after, known := g.gathered(item.Object)
	others := Grant{
		To: "every other subject bound to " + item.ID.Kind + " " + item.ID.Name, Namespace: item.ID.Namespace, Bound: true, Role: item.ID,
	}
	switch {
	case g.live[item.ID].Object == nil:
	case known:
		g.add(others, g.widened(before, after))
	default:
		others.Unknown = true
		g.found = append(g.found, others)
	}
	for _, to := range gatherers(item.Object) {
		had := before
		if !slices.Contains(gatherers(g.live[item.ID].Object), to) {
			had = nil
		}
		g.add(Grant{To: "every subject bound to ClusterRole " + to, Bound: true, Role: item.ID}, g.widened(had, after))
	}
}

// add adds what a role allows anew. A URL is in no namespace, and a part of everything.
func (g *granting) add(given Grant, fresh []Rule) {
	whole := given.Namespace != "" || slices.ContainsFunc(fresh, Rule.everything)
	for _, given.Rule = range fresh {
		if !whole || len(given.Rule.URLs) == 0 {
			g.found = append(g.found, given)
		}
	}
}

// widened returns the rules by which a role allows more, or those that have changed where comparing things takes too long.
func (g *granting) widened(before, after []Rule) []Rule {
	const roles, rulesAtOnce = 20, 100
	n := count(after)
	g.compared += n * (1 + len(before)/rulesAtOnce)
	if n > mostThings || g.compared > roles*mostThings {
		return changed(before, after)
	}
	return widened(before, after)
}

// rules returns the rules that a role will have; known is false if they cannot be read.
func (g *granting) rules(of ID) (after []Rule, known bool) {
	if o, ours := g.wanted[of]; ours {
		return g.gathered(o)
	}
	o := g.live[of].Object
	return rules(o), o != nil
}

// gatherers are the roles for people that gather a role by its labels, in Kubernetes as it
// comes: what view has, edit and admin have too.
func gatherers(o Object) []string {
	var found []string
	for _, to := range []string{"view", "edit", "admin"} {
		if o.Text("metadata", "labels", rbac+"/aggregate-to-"+to) == "true" || len(found) > 0 {
			found = append(found, to)
		}
	}
	return found
}

// refers is the role that a binding binds.
func refers(o Object) ID {
	id := ID{Group: rbac, Kind: o.Text("roleRef", "kind"), Name: o.Text("roleRef", "name")}
	if id.Kind == role {
		id.Namespace = o.Text("metadata", "namespace")
	}
	return id
}

// everyone lists the groups that are larger than their names suggest.
//
//nolint:gochecknoglobals // a table
var everyone = map[string]string{
	"Group system:authenticated":   "all users who can log in (Group system:authenticated)",
	"Group system:unauthenticated": "all users, without logging in (Group system:unauthenticated)",
	"Group system:serviceaccounts": "every ServiceAccount (Group system:serviceaccounts)",
}

// subjects returns the subjects of a binding, in words.
func subjects(o Object) []string {
	var found []string
	for _, one := range list(o.At("subjects")) {
		fields, _ := one.(map[string]any)
		s := Object(fields)
		text := s.Text("kind") + " " + strings.TrimPrefix(s.Text("namespace")+"/"+s.Text("name"), "/")
		found = append(found, cmp.Or(everyone[text], text))
	}
	return found
}

// aside are the roles that bindings refer to and the sequence does not have.
func (s Sequence) aside() []ID {
	own := map[ID]bool{}
	for _, item := range s {
		own[item.ID] = true
	}
	var found []ID
	for _, item := range s {
		if of := refers(item.Object); item.ID.Group == rbac && of.Name != "" && !own[of] {
			own[of] = true
			found = append(found, of)
		}
	}
	return found
}

// mostMatched is how often a plan matches roles with selectors, which one author can make any number of (TRUST.md U6).
const mostMatched = 5_000_000

// gathered returns the rules of a role, with those of the bundle's roles that it gathers by labels, and that these gather.
// What others' roles add to selectors that are new is Unverified. known is false if it takes too long to find out.
func (g *granting) gathered(o Object) (all []Rule, known bool) {
	seen := map[ID]bool{o.ID(): true}
	for next := []Object{o}; len(next) > 0; next = next[1:] {
		all = append(all, rules(next[0])...)
		by := selectors(next[0])
		if len(by) == 0 {
			continue
		}
		all = append(all, rules(g.live[next[0].ID()].Object)...)
		if g.matched += len(by) * len(g.wanted); g.matched > mostMatched {
			return all, false
		}
		for _, id := range slices.SortedFunc(maps.Keys(g.wanted), ID.Compare) {
			if id.Kind == clusterRole && !seen[id] && selected(by, g.wanted[id]) {
				seen[id] = true
				next = append(next, g.wanted[id])
			}
		}
	}
	return all, true
}
