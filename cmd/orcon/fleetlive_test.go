package main

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	bundlev1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/fleet/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/data"
)

// liveSet returns the set fleet/stage with values and parameters.
func liveSet() *v1alpha1.IntegrationSet {
	set := &v1alpha1.IntegrationSet{ObjectMeta: metav1.ObjectMeta{Namespace: "fleet", Name: "stage"}}
	set.Spec.Cluster, set.Spec.Environments, set.Spec.Upstream, set.Spec.Integrations = "one", []string{"stage"}, "up", []string{"a"}
	set.Spec.Chart.Values = &runtime.RawExtension{Raw: []byte(`{"excludeService": true}`)}
	set.Spec.Chart.ImageTag = &v1alpha1.IntegrationImageTag{Refs: map[string]string{"stage": "main"}, Digits: 4}
	set.Status.Images = []v1alpha1.IntegrationCommit{{Reference: "git+https://h/up@main", Commit: "abcdef"}}
	set.Spec.Chart.Parameters, set.Spec.Chart.Format = map[string]string{"TAG": "1"}, "helm"
	return set
}

// A plan for a cluster selects and renders as its set does, unless a flag says otherwise (FLEET.md P1).
func TestFleetFollowsSet(t *testing.T) {
	everything := liveSet()
	everything.Spec.Environments = []string{"All"}
	tests := map[string]struct {
		why    string
		set    *v1alpha1.IntegrationSet
		flags  fleet.Filter
		format string
		want   fleet.Filter
		as     string
	}{
		"Set":   {why: "no flag", set: liveSet(), want: fleet.Filter{Cluster: "one", Environments: []string{"stage"}, Upstream: "up", Integrations: []string{"a"}}, as: "helm"},
		"All":   {why: "All is no name", set: everything, want: fleet.Filter{Cluster: "one", Upstream: "up", Integrations: []string{"a"}}, as: "helm"},
		"Flags": {why: "flags win", set: liveSet(), format: "plain", as: "plain", flags: fleet.Filter{Cluster: "x", Environments: []string{"y"}, Upstream: "z", Integrations: []string{"b"}}, want: fleet.Filter{Cluster: "x", Environments: []string{"y"}, Upstream: "z", Integrations: []string{"b"}}},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			o := fleetOptions{filter: tc.flags}
			o.Format = tc.format
			require.NoError(t, o.follow(tc.set), tc.why)
			assert.Equal(t, tc.want, o.filter, tc.why)
			assert.Equal(t, tc.as, o.Format, tc.why)
			assert.Equal(t, map[string]any{"excludeService": true}, o.set.globals)
			assert.Equal(t, "1", o.set.parameters["TAG"])
			m := fleet.Member{Integration: "a", Upstream: "https://h/up", Namespace: data.Namespace{Environment: data.Environment{Name: "stage"}}}
			ref, _ := m.ImageRef(o.set.images, fleet.Parameters{})
			assert.Equal(t, "abcd", o.tag(ref), "the commit that the set has found")
			assert.Equal(t, "<v2>", o.tag(fleet.ImageRef{Repository: "https://h/up", Ref: "v2"}), "no other is looked up")
			assert.Empty(t, o.tag(fleet.ImageRef{}))
		})
	}
	broken := liveSet()
	broken.Spec.Chart.Values.Raw = []byte("[")
	require.ErrorContains(t, (&fleetOptions{}).follow(broken), "cannot use spec.chart.values of IntegrationSet fleet/stage")
}

// Members in the cluster are what the data were before, where no other base is named.
func TestFleetLiveVersion(t *testing.T) {
	d := &bundlev1alpha1.BundleDeployment{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
		v1alpha1.IntegrationKey: "a", v1alpha1.NamespaceKey: "/ns.yml", v1alpha1.FileKey: "/a.yml", v1alpha1.LineKey: "4",
	}}}
	d.Spec.Render.InstallNamespace = "tools"
	l := &fleetLive{set: liveSet(), members: map[string]*bundlev1alpha1.BundleDeployment{"x": d}}
	v := l.version()
	require.Len(t, v.members, 1)
	assert.Equal(t, "a in namespace tools, environment stage (/a.yml:4)", v.members[0].String())
	objects, err := v.render(t.Context(), v.members[0])
	require.NoError(t, err)
	assert.Empty(t, objects)
	assert.Equal(t, "system:serviceaccount:fleet:default", l.accountName())
}

// The end of a plan tells whether the cluster would stop a member.
func TestFleetPlanEnds(t *testing.T) {
	changes := []plannedObject{{}}
	get := bundle.Permission{Verb: "get", Resource: "secrets", Namespace: "fleet"}
	tests := map[string]struct {
		why     string
		planned plannedMember
		records []bundle.Permission
		want    string
		code    int
	}{
		"Nothing":  {why: "all is as declared", planned: plannedMember{Cluster: &livePlan{}}},
		"Changes":  {why: "an answer", planned: plannedMember{Objects: changes, Cluster: &livePlan{Held: []string{"x"}}}, want: "members that change: 1", code: exitFailed},
		"Refused":  {why: "the API server", planned: plannedMember{Cluster: &livePlan{Refused: []string{"x"}}}, want: "members that the cluster would stop: 1; members that change: 0", code: exitMisuse},
		"Conflict": {why: "another manager", planned: plannedMember{Objects: changes, Cluster: &livePlan{Conflicts: []string{"x"}}}, want: "members that the cluster would stop: 1; members that change: 1", code: exitMisuse},
		"Missing":  {why: "a Secret", planned: plannedMember{Cluster: &livePlan{Missing: []string{"x"}}}, want: "members that the cluster would stop: 1", code: exitMisuse},
		"Lacking":  {why: "a permission", planned: plannedMember{Cluster: &livePlan{needs: []bundle.Permission{get}}}, want: "members that the cluster would stop: 1", code: exitMisuse},
		"Records":  {why: "a permission of all members", planned: plannedMember{Cluster: &livePlan{}}, records: []bundle.Permission{get}, want: "the account of the set lacks permissions", code: exitMisuse},
		"Partial":  {why: "what is unread may change", planned: plannedMember{Cluster: &livePlan{unread: true}}, want: "members that could not be compared, since you may not read them: 1", code: exitMisuse},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			err := ended((&fleetLive{set: liveSet(), records: tc.records}).rights([]plannedMember{tc.planned}), []plannedMember{tc.planned})
			if tc.want == "" {
				require.NoError(t, err, tc.why)
				return
			}
			require.ErrorContains(t, err, tc.want, tc.why)
			_, code := explain(t.Context(), err)
			assert.Equal(t, tc.code, code, tc.why)
		})
	}
}

// Each refusal of a plan has a line of its own.
func TestFleetPlanFailures(t *testing.T) {
	assert.Equal(t, []string{"ConfigMap a: x", "Secret b: y"},
		failures(errors.Join(errors.New("cannot plan ConfigMap a: x"), errors.New("cannot plan Secret b: y"))))
	assert.Equal(t, []string{"cannot look up kind X"}, failures(errors.New("cannot look up kind X")))
}

// Roles have a name that differs with what they give, so that those of a later plan take nothing away (FLEET.md O1).
func TestFleetPlanRoles(t *testing.T) {
	text := func(l *fleetLive) (string, string, error) {
		var out, errs bytes.Buffer
		err := printRoles(screen{out: &out, errs: &errs}, l.rights(nil))
		return out.String(), errs.String(), err
	}
	get := bundle.Permission{Verb: "get", Resource: "secrets", Namespace: "fleet"}
	create := get
	create.Verb = "create"
	one, _, err := text(&fleetLive{set: liveSet(), records: []bundle.Permission{get}})
	require.NoError(t, err)
	assert.Contains(t, one, "kind: RoleBinding")
	two, _, err := text(&fleetLive{set: liveSet(), records: []bundle.Permission{create}})
	require.NoError(t, err)
	const name = "  name: orcon-fleet-stage-"
	at := bytes.Index([]byte(one), []byte(name)) + len(name)
	assert.NotContains(t, two, one[at-len(name):at+8])
	_, errs, err := text(&fleetLive{set: liveSet()})
	require.NoError(t, err)
	assert.Equal(t, "note: system:serviceaccount:fleet:default lacks no permissions\n", errs)
	_, _, err = text(&fleetLive{set: liveSet(), denied: "you may not act as it"})
	require.ErrorContains(t, err, "you may not act as it", "what is unknown is not nothing")
}

// What the cluster has to say stands below the changes of a member, and the permissions once at the end.
func TestFleetPlanPrints(t *testing.T) {
	get := bundle.Permission{Verb: "get", Resource: "configmaps", Namespace: "tools"}
	planned := []plannedMember{{title: "a in tools", Cluster: &livePlan{
		Refused: []string{"r"}, Conflicts: []string{"c"}, Missing: []string{"m"}, Held: []string{"h"}, Unverified: []string{"u"}, needs: []bundle.Permission{get},
	}}, {title: "b in tools", Cluster: &livePlan{needs: []bundle.Permission{get}}}}
	for format, want := range map[string]string{
		asTable: "a in tools\n  refused: r\n  conflict: c\n  missing: m\n  held: h\n  unverified: u\n\nb in tools\n\nsystem:serviceaccount:fleet:default lacks " +
			"permissions that this needs:\n- in namespace tools: get configmaps: bind it a Role",
		asMarkdown: "### a in tools\n\n- **refused**: r\n- **conflict**: c\n",
	} {
		var out, errs bytes.Buffer
		o := fleetPlanOptions{output: output{format: format}}
		require.NoError(t, o.print(screen{out: &out, errs: &errs}, (&fleetLive{set: liveSet()}).rights(planned), planned, nil))
		assert.Contains(t, out.String(), want)
		assert.NotContains(t, out.String()+errs.String(), "without a cluster")
	}
}
