package bundle_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// allow is a rule as a manifest has it.
func allow(verbs, groups, resources []any, names ...any) map[string]any {
	rule := map[string]any{"verbs": verbs, "apiGroups": groups, "resources": resources}
	if len(names) > 0 {
		rule["resourceNames"] = names
	}
	return rule
}

func words(words ...any) []any { return words }

// access makes an object of access control: "Kind namespace/name" with further fields.
func access(kind, namespace, name string, fields map[string]any) bundle.Object {
	metadata := map[string]any{"name": name}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	o := bundle.Object{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": metadata}
	maps.Copy(o, fields)
	if labels, ok := fields["labels"]; ok {
		metadata["labels"] = labels
		delete(o, "labels")
	}
	return o
}

// binds makes a binding to a ServiceAccount web of namespace shop.
func binds(kind, namespace, roleKind, role string) bundle.Object {
	return access(kind, namespace, "web", map[string]any{
		"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": roleKind, "name": role},
		"subjects": words(map[string]any{"kind": "ServiceAccount", "namespace": "shop", "name": "web"}),
	})
}

// BUNDLES.md 9: what is granted is said in words, against what was granted before.
func TestNewPlanGrants(t *testing.T) {
	role := func(rules ...any) bundle.Object {
		return access("Role", "shop", "web", map[string]any{"rules": rules})
	}
	secrets := allow(words("get", "delete", "list"), words(""), words("secrets"))
	binding := binds("RoleBinding", "shop", "Role", "web")
	admin := access("ClusterRole", "", "cluster-admin", map[string]any{"rules": words(
		allow(words("*"), words("*"), words("*")), map[string]any{"verbs": words("*"), "nonResourceURLs": words("*")})})
	everywhere, inside := binds("ClusterRoleBinding", "", "ClusterRole", "cluster-admin"), binds("RoleBinding", "shop", "ClusterRole", "cluster-admin")
	widgets := access("ClusterRole", "", "widgets", map[string]any{
		"rules": words(allow(words("update", "patch"), words("example.org"), words("widgets", "gadgets"))), "labels": map[string]any{"rbac.authorization.k8s.io/aggregate-to-edit": "true"}})
	gathers := access("ClusterRole", "", "all", map[string]any{
		"aggregationRule": map[string]any{"clusterRoleSelectors": words(map[string]any{"matchLabels": map[string]any{"rbac.authorization.k8s.io/aggregate-to-edit": "true"}})}})
	everybody := binds("ClusterRoleBinding", "", "ClusterRole", "cluster-admin")
	everybody["subjects"] = words(map[string]any{"kind": "Group", "name": "system:unauthenticated"})
	tests := map[string]struct {
		why     string
		live    []bundle.Object
		objects []bundle.Object
		want    []string
	}{
		"New":       {why: "a role and who has it", objects: []bundle.Object{role(secrets), binding}, want: []string{"ServiceAccount shop/web may now read and delete secrets in namespace shop (Role web)"}},
		"Unbound":   {why: "nobody has it yet", objects: []bundle.Object{role(secrets)}},
		"Same":      {why: "what was there is not new", live: []bundle.Object{role(secrets), binding}, objects: []bundle.Object{role(secrets), binding}},
		"Less":      {why: "what is taken away is no grant", live: []bundle.Object{role(secrets, allow(words("*"), words("*"), words("*"))), binding}, objects: []bundle.Object{role(secrets), binding}},
		"Star":      {why: "all that there is includes it", live: []bundle.Object{role(allow(words("*"), words("*"), words("*"))), binding}, objects: []bundle.Object{role(secrets), binding}},
		"Parts":     {why: "parts of all things", live: []bundle.Object{role(allow(words("get"), words(""), words("*/log"))), binding}, objects: []bundle.Object{role(allow(words("get"), words(""), words("pods/log"))), binding}},
		"Names":     {why: "another name is another permission", live: []bundle.Object{role(allow(words("get"), words(""), words("secrets"), "a")), binding}, objects: []bundle.Object{role(allow(words("get"), words(""), words("secrets"), "a", "b")), binding}, want: []string{"ServiceAccount shop/web may now read secrets named b in namespace shop (Role web)", "every other subject bound to Role web may now read secrets named b in namespace shop (Role web)"}},
		"Unnamed":   {why: "all is more than one", live: []bundle.Object{role(allow(words("get"), words(""), words("secrets"), "a")), binding}, objects: []bundle.Object{role(allow(words("get"), words(""), words("secrets"))), binding}, want: []string{"ServiceAccount shop/web may now read secrets in namespace shop (Role web)", "every other subject bound to Role web may now read secrets in namespace shop (Role web)"}},
		"Admin":     {why: "the most that there is", live: []bundle.Object{admin}, objects: []bundle.Object{everywhere}, want: []string{"ServiceAccount shop/web may now do everything, everywhere (ClusterRole cluster-admin)"}},
		"Inside":    {why: "the most of one namespace", live: []bundle.Object{admin}, objects: []bundle.Object{inside}, want: []string{"ServiceAccount shop/web may now do everything in namespace shop (ClusterRole cluster-admin)"}},
		"Everybody": {why: "a group that is more than it sounds", live: []bundle.Object{access("ClusterRole", "", "cluster-admin", map[string]any{"rules": words(secrets)})}, objects: []bundle.Object{everybody}, want: []string{"all users, without logging in (Group system:unauthenticated) may now read and delete secrets in every namespace (ClusterRole cluster-admin)"}},
		"URL":       {why: "what is no resource", live: []bundle.Object{access("ClusterRole", "", "cluster-admin", map[string]any{"rules": words(map[string]any{"verbs": words("get"), "nonResourceURLs": words("/metrics", "/healthz/*")})})}, objects: []bundle.Object{everywhere}, want: []string{"ServiceAccount shop/web may now read URLs /healthz/*, /metrics everywhere (ClusterRole cluster-admin)"}},
		"Unknown":   {why: "what cannot be read is said, not passed over", objects: []bundle.Object{inside}, want: []string{"ServiceAccount shop/web may now do what ClusterRole cluster-admin allows, which cannot be read, in namespace shop"}},
		"Aggregate": {why: "roles for people gather it", objects: []bundle.Object{widgets}, want: []string{
			"every subject bound to ClusterRole admin may now change gadgets.example.org, widgets.example.org wherever they are bound (ClusterRole widgets)",
			"every subject bound to ClusterRole edit may now change gadgets.example.org, widgets.example.org wherever they are bound (ClusterRole widgets)",
		}},
		"Gathers": {why: "a role of the bundle gathers others of it", live: []bundle.Object{widgets}, objects: []bundle.Object{gathers, widgets, binds("RoleBinding", "shop", "ClusterRole", "all")}, want: []string{
			"ServiceAccount shop/web may now change gadgets.example.org, widgets.example.org in namespace shop (ClusterRole all)",
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			live := map[bundle.ID]bundle.Live{}
			for _, o := range tc.live {
				live[o.ID()] = bundle.Live{Object: o}
			}
			var got []string
			for _, g := range draft(t, live, nil, tc.objects...).Grants {
				got = append(got, g.String())
			}
			assert.Equal(t, tc.want, got, tc.why)
		})
	}
}

// A binding's role is looked at although it is of somebody else.
func TestLookAsksForBoundRoles(t *testing.T) {
	look := order(t, binds("RoleBinding", "shop", "Role", "web"), binds("ClusterRoleBinding", "", "ClusterRole", "view"), access("Role", "shop", "web", nil)).Look(owner, bundle.Record{}, nil)
	assert.Equal(t, []bundle.ID{{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "view"}}, look.Aside)
}

// What is granted is what the new rules allow and the old ones do not, in whatever order
// they are written.
func TestGrantsAreWhatIsNew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		some := func(label string, from ...any) []any {
			return rapid.SliceOfNDistinct(rapid.SampledFrom(from), 1, 3, rapid.ID).Draw(t, label)
		}
		rules := func(label string) []any {
			var all []any
			for range rapid.IntRange(0, 3).Draw(t, label) {
				rule := allow(some("verbs", "get", "list", "delete", "*"), some("groups", "", "apps", "*"), some("resources", "pods", "pods/log", "*", "*/log"))
				if rapid.Bool().Draw(t, "named") {
					rule["resourceNames"] = some("names", "a", "b")
				}
				all = append(all, rule)
			}
			return all
		}
		before, after := rules("before"), rules("after")
		live := func(rules []any) map[bundle.ID]bundle.Live {
			all := map[bundle.ID]bundle.Live{}
			for _, o := range []bundle.Object{access("Role", "shop", "web", map[string]any{"rules": rules}), binds("RoleBinding", "shop", "Role", "web")} {
				all[o.ID()] = bundle.Live{Object: o}
			}
			return all
		}
		granted := func(before, after []any) []bundle.Grant {
			s := order(t, access("Role", "shop", "web", map[string]any{"rules": after}), binds("RoleBinding", "shop", "Role", "web"))
			p, err := bundle.NewPlan(bundle.Intent{Owner: owner, Sequence: s, Live: live(before)})
			require.NoError(t, err)
			return p.Grants
		}
		fresh := granted(before, after)
		assert.Equal(t, fresh, granted(before, rapid.Permutation(after).Draw(t, "order")), "the order says nothing")
		assert.Empty(t, granted(after, after), "what is there is not new")
		both := before
		for _, g := range fresh {
			both = append(both, rule(g.Rule))
		}
		assert.Empty(t, granted(both, after), "nothing is missing")
	})
}

// rule writes a rule as a manifest has it.
func rule(r bundle.Rule) map[string]any {
	lists := map[string]any{}
	for field, list := range map[string][]string{"verbs": r.Verbs, "apiGroups": r.Groups, "resources": r.Resources, "resourceNames": r.Names} {
		var all []any
		for _, text := range list {
			all = append(all, text)
		}
		lists[field] = all
	}
	return lists
}

// BUNDLES.md 9: all that an account lacks is said at once, with the cure.
func TestLackingError(t *testing.T) {
	err := &bundle.LackingError{Account: "system:serviceaccount:shop:deployer", Lacks: []bundle.Permission{
		{Verb: "patch", Group: "apps", Resource: "deployments", Namespace: "shop"}, {Verb: "create", Resource: "configmaps", Namespace: "shop"},
		{Verb: "create", Group: "apps", Resource: "deployments", Namespace: "shop"}, {Verb: "create", Resource: "namespaces"},
	}}
	assert.EqualError(t, err, `cannot plan: system:serviceaccount:shop:deployer lacks permissions that this needs:
- in the whole cluster: create namespaces: bind it a ClusterRole with rules: [{"apiGroups":[""],"resources":["namespaces"],"verbs":["create"]}]
- in namespace shop: create configmaps; create, patch deployments.apps: bind it a Role with rules: [{"apiGroups":[""],"resources":["configmaps"],"verbs":["create"]},{"apiGroups":["apps"],"resources":["deployments"],"verbs":["create","patch"]}]`)
}

// BUNDLES.md 9: no way to gather rules by labels hides what a binding gives.
func TestNewPlanGrantsWhatIsGathered(t *testing.T) {
	made := func(name string, labels, selector map[string]any, rules ...any) bundle.Object {
		fields := map[string]any{}
		if labels != nil {
			fields["labels"] = labels
		}
		if selector != nil {
			fields["aggregationRule"] = map[string]any{"clusterRoleSelectors": words(selector)}
		}
		if rules != nil {
			fields["rules"] = rules
		}
		return access("ClusterRole", "", name, fields)
	}
	by := func(label string) map[string]any {
		return map[string]any{"matchLabels": map[string]any{label: "true"}}
	}
	expression := func(operator string, values ...any) map[string]any {
		return map[string]any{"matchExpressions": words(map[string]any{"key": "x", "operator": operator, "values": values})}
	}
	x, secrets := map[string]any{"x": "true"}, allow(words("get"), words(""), words("secrets"))
	const given, everybody = "ServiceAccount shop/web may now read secrets in every namespace (ClusterRole all)", "every other subject bound to ClusterRole all may now read secrets wherever they are bound (ClusterRole all)"
	const unverified = "it has the rules of ClusterRoles by their labels, also of others"
	for name, tc := range map[string]struct {
		live, objects []bundle.Object
		want          []string
	}{
		"Nested":       {objects: []bundle.Object{made("all", nil, by("y")), made("some", map[string]any{"y": "true"}, by("x")), made("one", x, nil, secrets)}, want: []string{given, unverified}},
		"Circle":       {objects: []bundle.Object{made("all", x, by("x")), made("one", x, by("x"), secrets)}, want: []string{given, unverified}},
		"Exists":       {objects: []bundle.Object{made("all", nil, expression("Exists")), made("one", x, nil, secrets)}, want: []string{given, unverified}},
		"In":           {objects: []bundle.Object{made("all", nil, expression("In", "a", "true")), made("one", x, nil, secrets)}, want: []string{given, unverified}},
		"NotIn":        {objects: []bundle.Object{made("all", nil, expression("NotIn", "a")), made("one", x, nil, secrets)}, want: []string{given, unverified}},
		"DoesNotExist": {objects: []bundle.Object{made("all", nil, expression("DoesNotExist")), made("one", nil, nil, secrets)}, want: []string{given, unverified}},
		"Without":      {objects: []bundle.Object{made("all", nil, expression("DoesNotExist")), made("one", x, nil, secrets)}, want: []string{unverified}},
		"Empty":        {objects: []bundle.Object{made("all", nil, map[string]any{}), made("one", nil, nil, secrets)}, want: []string{given, unverified}},
		"Widened":      {live: []bundle.Object{made("all", nil, by("y"))}, objects: []bundle.Object{made("all", nil, map[string]any{})}, want: []string{unverified}},
		"WidenedToOwn": {live: []bundle.Object{made("all", nil, by("y"))}, objects: []bundle.Object{made("all", nil, by("x")), made("one", x, nil, secrets)}, want: []string{given, everybody, unverified}},
		"Same":         {live: []bundle.Object{made("all", nil, by("x"), secrets), made("one", x, nil, secrets)}, objects: []bundle.Object{made("all", nil, by("x")), made("one", x, nil, secrets)}},
	} {
		t.Run(name, func(t *testing.T) {
			binding := binds("ClusterRoleBinding", "", "ClusterRole", "all")
			live := map[bundle.ID]bundle.Live{}
			for _, o := range append(tc.live, binding) {
				if len(tc.live) > 0 {
					live[o.ID()] = bundle.Live{Object: o}
				}
			}
			p := draft(t, live, nil, append(tc.objects, binding)...)
			var got []string
			for _, g := range p.Grants {
				got = append(got, g.String())
			}
			for _, u := range p.Unverified {
				if u.ID.Name == "all" {
					got = append(got, u.Why)
				}
			}
			assert.Equal(t, tc.want, got)
		})
	}
}

// What takes too long to gather is not passed over (TRUST.md U6).
func TestNewPlanGrantsBounded(t *testing.T) {
	selectors := make([]any, 3000)
	for i := range selectors {
		selectors[i] = map[string]any{"matchLabels": map[string]any{"x": "false"}}
	}
	objects := []bundle.Object{binds("ClusterRoleBinding", "", "ClusterRole", "all"), access("ClusterRole", "", "all", map[string]any{
		"aggregationRule": map[string]any{"clusterRoleSelectors": selectors}})}
	for i := range 3000 {
		objects = append(objects, access("ClusterRole", "", fmt.Sprint("r", i), nil))
	}
	p := draft(t, nil, nil, objects...)
	require.Len(t, p.Grants, 1)
	assert.Equal(t, "ServiceAccount shop/web may now do what ClusterRole all allows, which cannot be read, in every namespace", p.Grants[0].String())
}
