package bundle_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// What an account lacks can be given by applying objects, one Role for each namespace (BUNDLES.md 9, FLEET.md O1).
func TestLackingRoles(t *testing.T) {
	subject := map[string]any{"kind": "ServiceAccount", "namespace": "fleet", "name": "deployer"}
	rule := func(group, resource string, verbs ...any) map[string]any {
		return map[string]any{"apiGroups": words(group), "resources": words(resource), "verbs": verbs}
	}
	e := &bundle.LackingError{Account: "system:serviceaccount:fleet:deployer", Lacks: []bundle.Permission{
		{Verb: "create", Group: "apps", Resource: "deployments", Namespace: "b"}, {Verb: "get", Resource: "secrets", Namespace: "a"},
		{Verb: "patch", Group: "apps", Resource: "deployments", Namespace: "b"}, {Verb: "get", Resource: "namespaces"},
		{Verb: "create", Group: "apps", Resource: "deployments", Namespace: "b"},
	}}
	all := e.Roles("members")
	require.Len(t, all, 6)
	var ids []string
	for _, o := range all {
		ids = append(ids, o.ID().String())
	}
	assert.Equal(t, []string{
		"ClusterRole members", "ClusterRoleBinding members", "Role a/members", "RoleBinding a/members", "Role b/members", "RoleBinding b/members",
	}, ids)
	assert.Equal(t, []any{rule("", "namespaces", "get")}, all[0].At("rules"))
	assert.Equal(t, []any{rule("apps", "deployments", "create", "patch")}, all[4].At("rules"))
	for i, kind := range map[int]string{1: "ClusterRole", 3: "Role", 5: "Role"} {
		assert.Equal(t, map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": "members"}, all[i].At("roleRef"))
		assert.Equal(t, []any{subject}, all[i].At("subjects"))
	}
	e.Account = "bob"
	assert.Equal(t, map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "bob"}, e.Roles("x")[1].At("subjects").([]any)[0])
}

// The Roles allow what is lacking and nothing else, in whatever order it comes.
func TestLackingRolesAllow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		some := rapid.Custom(func(t *rapid.T) bundle.Permission {
			return bundle.Permission{
				Verb: rapid.SampledFrom([]string{"get", "create", "patch"}).Draw(t, "verb"), Group: rapid.SampledFrom([]string{"", "apps"}).Draw(t, "group"),
				Resource: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "resource"), Namespace: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "namespace"),
			}
		})
		lacks := rapid.SliceOf(some).Draw(t, "lacks")
		wanted, given := map[bundle.Permission]bool{}, map[bundle.Permission]bool{}
		for _, n := range lacks {
			wanted[n] = true
		}
		roles := (&bundle.LackingError{Account: "a", Lacks: lacks}).Roles("r")
		for i := 0; i < len(roles); i += 2 {
			for _, r := range roles[i].At("rules").([]any) {
				fields := r.(map[string]any)
				for _, group := range fields["apiGroups"].([]any) {
					for _, resource := range fields["resources"].([]any) {
						for _, verb := range fields["verbs"].([]any) {
							given[bundle.Permission{Verb: verb.(string), Group: group.(string), Resource: resource.(string), Namespace: roles[i].ID().Namespace}] = true
						}
					}
				}
			}
		}
		require.Equal(t, wanted, given)
		require.Equal(t, roles, (&bundle.LackingError{Account: "a", Lacks: rapid.Permutation(lacks).Draw(t, "order")}).Roles("r"))
	})
}
