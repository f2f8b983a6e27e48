package bundles

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// access is a role and who has it, as a bundle brings it.
const access = `---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: web}
rules:
- {apiGroups: [""], resources: [secrets], verbs: [get, list, delete]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: web}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: web}
subjects: [{kind: ServiceAccount, name: web, namespace: shop}]
`

// deployer makes a ServiceAccount with some rules in the namespace, and returns a process
// that acts as it.
func (w *world) deployer(rules ...string) process {
	w.t.Helper()
	role := "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: deployer, namespace: NS}, rules: [" + strings.Join(rules, ", ") + "]}\n"
	w.apply(strings.ReplaceAll("{apiVersion: v1, kind: ServiceAccount, metadata: {name: deployer, namespace: NS}}\n---\n"+role+`---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: deployer, namespace: NS}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: deployer}
subjects: [{kind: ServiceAccount, name: deployer, namespace: NS}]
`, "NS", w.namespace))
	return w.processOf(-1, func(c *rest.Config) { c.Impersonate.UserName = "system:serviceaccount:" + w.namespace + ":deployer" })
}

// What some rules allow.
const (
	storing    = `{apiGroups: [""], resources: [secrets], verbs: [get, create, update, delete]}`
	configMaps = `{apiGroups: [""], resources: [configmaps], verbs: [get, create, patch, delete]}`
)

// The plan lists all that the acting account lacks, at once and with the cure, and nothing
// is written (BUNDLES.md 1 and 9).
func TestPlanListsWhatTheAccountLacks(t *testing.T) {
	w := newWorld(t)
	p := w.deployer(storing, `{apiGroups: [""], resources: [configmaps], verbs: [get]}`)
	_, err := p.Plan(t.Context(), p.wish(t, blue+service+broken))
	var lacking *bundle.LackingError
	require.ErrorAs(t, err, &lacking)
	assert.Equal(t, "system:serviceaccount:"+w.namespace+":deployer", lacking.Account)
	var needs []string
	for _, n := range lacking.Lacks {
		assert.Equal(t, w.namespace, n.Namespace)
		needs = append(needs, n.Verb+" "+n.Resource)
	}
	assert.ElementsMatch(t, []string{
		"create configmaps", "get services", "create services", "patch services", "list endpointslices",
		"get deployments", "create deployments", "patch deployments", "list pods", "list events",
	}, needs)
	assert.ErrorContains(t, err, `bind it a Role with rules: [{"apiGroups":[""],"resources":["configmaps"],"verbs":["create"]}`)
	assert.Zero(t, w.writes.Load())
}

// An account that may do what a plan needs, and no more, installs, upgrades and removes (BUNDLES.md 9).
func TestAccountWithJustEnough(t *testing.T) {
	w := newWorld(t)
	p := w.deployer(storing, configMaps)
	identity, err := p.world.Identity(t.Context())
	require.NoError(t, err, "it need not read namespaces")
	assert.NotEmpty(t, identity)
	require.NoError(t, p.install(p.wish(t, blue+extra)))
	require.NoError(t, p.install(p.wish(t, green)))
	assert.Equal(t, map[string]map[string]string{"colour": {"colour": "green"}}, w.configMaps())
	require.NoError(t, p.uninstall())

	named := newWorld(t)
	require.NoError(t, named.install(blue+extra))
	p = named.deployer(storing, `{apiGroups: [""], resources: [configmaps], resourceNames: [colour], verbs: [get, patch]}`, `{apiGroups: [""], resources: [configmaps], resourceNames: [extra], verbs: [get, delete]}`)
	require.NoError(t, p.install(p.wish(t, green)), "permissions on single objects are enough")
}

// An account gives nobody what it has not itself: the plan says so, and nothing is written
// (BUNDLES.md 9).
func TestAccountGivesNoMoreThanItHas(t *testing.T) {
	w := newWorld(t)
	roles := `{apiGroups: [rbac.authorization.k8s.io], resources: [roles, rolebindings], verbs: [get, create, patch]}`
	p := w.deployer(storing, roles)
	_, err := p.Plan(t.Context(), p.wish(t, access))
	require.ErrorContains(t, err, "cannot plan Role "+w.namespace+"/web: it grants more than system:serviceaccount:"+w.namespace+":deployer has")
	assert.Zero(t, w.writes.Load())

	enough := newWorld(t)
	p = enough.deployer(storing, roles, `{apiGroups: [""], resources: [secrets], verbs: [list]}`)
	require.NoError(t, p.install(p.wish(t, access)), "what it has it may give")
}

// What a bundle grants is in its plan, in words, against what was granted before (BUNDLES.md 9).
func TestPlanTellsWhatIsGranted(t *testing.T) {
	w := newWorld(t)
	grants := func(manifests string) []string {
		t.Helper()
		p := w.process(0)
		plan, err := p.Plan(t.Context(), p.wish(t, manifests))
		require.NoError(t, err)
		var words []string
		for _, g := range plan.Grants {
			words = append(words, g.String())
		}
		return words
	}
	assert.Equal(t, []string{"ServiceAccount shop/web may now read and delete secrets in namespace " + w.namespace + " (Role web)"}, grants(access))
	admin := strings.ReplaceAll(access, "kind: Role, name: web", "kind: ClusterRole, name: cluster-admin")
	assert.Equal(t, []string{"ServiceAccount shop/web may now do everything in namespace " + w.namespace + " (ClusterRole cluster-admin)"}, grants(admin))
	require.NoError(t, w.install(access))
	assert.Empty(t, grants(access))
}
