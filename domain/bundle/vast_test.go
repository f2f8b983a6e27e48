package bundle_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// vast returns a binding of a role whose rule lists so many verbs, groups and resources.
func vast(verbs, groups, resources, subjects int) []bundle.Object {
	words := func(word string, n int) (all []any) {
		for i := range n {
			all = append(all, fmt.Sprintf("%s%04d", word, i))
		}
		return all
	}
	r := bundle.Object{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": map[string]any{"name": "r", "namespace": "shop"},
		"rules": []any{map[string]any{"verbs": words("v", verbs), "apiGroups": words("g", groups), "resources": words("r", resources)}}}
	var to []any
	for i := range subjects {
		to = append(to, map[string]any{"kind": "ServiceAccount", "name": fmt.Sprint("a", i), "namespace": "shop"})
	}
	b := bundle.Object{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": map[string]any{"name": "b", "namespace": "shop"},
		"roleRef": map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}, "subjects": to}
	return []bundle.Object{r, b}
}

// What a bundle grants is worked out in the controller of all bundles, in little time and memory, whatever its roles list
// (BUNDLES.md 9, TRUST.md U6).
func TestVastRoles(t *testing.T) {
	for label, test := range map[string]struct {
		verbs, groups, resources, subjects, grants int
		says                                       string
	}{
		"Aggregated": {10, 100, 10, 1, 100, "r0009.g0099"},
		"Product":    {20, 40, 40, 1, 1, "v0019 1600 resources of 40 groups"},
		"Vast":       {300, 300, 300, 1, 1, "90000 resources of 300 groups"},
		"Subjects":   {10, 10, 10, 1000, 10_000, "ServiceAccount shop/a999"},
	} {
		t.Run(label, func(t *testing.T) {
			began := time.Now()
			p := draft(t, nil, nil, vast(test.verbs, test.groups, test.resources, test.subjects)...)
			require.Len(t, p.Grants, test.grants)
			assert.Less(t, time.Since(began), 5*time.Second)
			var text strings.Builder
			for _, g := range p.Grants {
				text.WriteString(g.String())
			}
			assert.Contains(t, text.String(), test.says)
			assert.Less(t, text.Len(), 4<<20)
		})
	}
}

// The order of a bundle is worked out in the controller of all bundles too, whatever its objects wait for (TRUST.md U6).
func TestVastOrder(t *testing.T) {
	many := func(n int, kind string, note func(i int) string) (all []bundle.Object) {
		for i := range n {
			o := object(fmt.Sprintf("%s o%04d", kind, i))
			if after := note(i); after != "" {
				o = object(fmt.Sprintf("%s o%04d", kind, i), "after="+after)
			}
			all = append(all, o)
		}
		return all
	}
	none := func(int) string { return "" }
	list := func(n int, kind string) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf("%s/o%04d", kind, i))
		}
		return strings.Join(all, ",")
	}
	const n = 1000
	for label, test := range map[string]struct {
		objects  []bundle.Object
		canaries []string
		want     string
	}{
		"Canaries": {many(n, "Deployment", none), []string{"o0[0-4]*"}, "in more than 100000 ways: name fewer (annotation orcon.tengu.io/after, or spec.canaries)"},
		"After": {
			append(many(400, "Deployment", func(int) string { return list(400, "ConfigMap") }), many(400, "ConfigMap", none)...), nil, "in more than 100000 ways",
		},
		"Unknown": {
			many(n, "ConfigMap", func(int) string { return "Secret/b,Secret/c" }), nil, `ConfigMap shop/o0000: annotation orcon.tengu.io/after: "Secret/b" is not in the bundle`,
		},
		"Cycles": {
			many(n, "ConfigMap", func(i int) string {
				if i == n-1 {
					return list(n, "ConfigMap")
				}
				return fmt.Sprintf("ConfigMap/o%04d", i+1)
			}), nil, "these objects wait for each other",
		},
	} {
		t.Run(label, func(t *testing.T) {
			began := time.Now()
			_, err := bundle.Order(test.objects, test.canaries...)
			require.ErrorContains(t, err, test.want)
			assert.Less(t, len(err.Error()), 1<<20)
			assert.Less(t, strings.Count(err.Error(), "\n"), 50)
			assert.Less(t, time.Since(began), 5*time.Second)
		})
	}
}
