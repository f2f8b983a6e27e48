package bundle

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// deployment is one that has something in each field that is mapped.
func deployment() *v1alpha1.BundleDeployment {
	d := &v1alpha1.BundleDeployment{Spec: v1alpha1.BundleDeploymentSpec{
		Format: "plain", DependsOn: []string{"other"},
		Sources:      []v1alpha1.BundleSource{{Reference: "oci://a/b", Resolve: "Track", Destination: "sub"}, {Reference: "oci://c/d"}},
		HealthChecks: []v1alpha1.BundleHealthCheck{{}},
		Drift:        v1alpha1.BundleDrift{Ignore: []v1alpha1.BundleIgnore{{}, {}}},
	}}
	d.Namespace, d.Name, d.UID = "shop", "web", "uid"
	d.Spec.Rollback.ProgressDeadline = &metav1.Duration{Duration: time.Minute}
	return d
}

func TestToWanted(t *testing.T) {
	w := ToWanted(deployment())
	assert.Equal(t, "web", w.Name)
	assert.Equal(t, "plain", w.Format)
	assert.Equal(t, []string{"other"}, w.DependsOn)
	assert.Equal(t, time.Minute, w.Deadline)
	assert.Equal(t, []bundle.WantedSource{{Reference: "oci://a/b", Track: true, Destination: "sub"}, {Reference: "oci://c/d"}}, w.Sources)
	assert.Len(t, w.Ignores, 2)
	assert.False(t, w.Values)
	assert.Len(t, ToProbes(deployment()), 1)
}

func TestNames(t *testing.T) {
	d := deployment()
	assert.Equal(t, "shop/web", Owner(d))
	assert.Equal(t, "system:serviceaccount:shop:default", Account(d))
	d.Spec.ServiceAccountName = "deployer"
	assert.Equal(t, "system:serviceaccount:shop:deployer", Account(d))
	assert.Equal(t, "web-7", RevisionName(d, 7))
}

// Unset is the default of the domain, and 0 is no deletion without approval.
func TestMayDelete(t *testing.T) {
	assert.Equal(t, 0, MayDelete(v1alpha1.BundlePrune{}))
	for most, want := range map[int32]int{0: -1, 5: 5} {
		assert.Equal(t, want, MayDelete(v1alpha1.BundlePrune{MaxDeletions: &most}))
	}
}

// Parameters are requested, so that a format without them is refused, and reach the rendering.
func TestParameters(t *testing.T) {
	d := deployment()
	assert.False(t, ToWanted(d).Parameters)
	assert.Nil(t, ToParameters(d.Spec.Render))
	d.Spec.Render.Parameters = map[string]v1alpha1.BundleParameter{"A": "x", "B": ""}
	assert.True(t, ToWanted(d).Parameters)
	assert.Equal(t, map[string]string{"A": "x", "B": ""}, ToParameters(d.Spec.Render))
}

// A status shows the first of many waits, and the first bytes of a long text.
func TestSetDeployment(t *testing.T) {
	d := deployment()
	d.Generation = 3
	var s bundle.Standing
	for range maxWaits + 1 {
		long := strings.Repeat("ü", condition.MaxEntry)
		s.Next.Waits = append(s.Next.Waits, bundle.Wait{ID: bundle.ID{Kind: long, Name: long}, For: long})
	}
	SetDeployment(d, s, bundle.Record{}, time.Unix(1, 0))
	assert.EqualValues(t, 3, d.Status.ObservedGeneration)
	require.Len(t, d.Status.Waits, maxWaits)
	assert.LessOrEqual(t, len(d.Status.Waits[0].Message), condition.MaxEntry)
	assert.LessOrEqual(t, len(d.Status.Waits[0].Object), maxObject, "TRUST.md U5")
	assert.True(t, strings.HasSuffix(d.Status.Waits[0].Message, "ü…"), "no character is cut in two")
}

func TestPlans(t *testing.T) {
	d := deployment()
	assert.Empty(t, ForPlan(d, bundle.Plan{Digest: "x"}, 0).Revision, "a deletion is no revision")
	assert.Equal(t, "web-2", ForPlan(d, bundle.Plan{Digest: "x"}, 2).Revision)

	p := bundle.Plan{Actions: []bundle.Action{{Verb: bundle.None}}}
	for range maxActions + 1 {
		p.Actions = append(p.Actions, bundle.Action{Verb: bundle.Create})
	}
	r := ForRevision(d, bundle.Revision{Number: 2, PlanDigest: "x"}, p, []string{"web-2-0"})
	assert.Equal(t, "web-2", r.Name)
	assert.Equal(t, "uid", string(r.OwnerReferences[0].UID))
	assert.Equal(t, []string{"web-2-0"}, r.Spec.Contents)
	require.Len(t, r.Spec.Actions, maxActions+1)
	assert.Equal(t, "… and more", r.Spec.Actions[maxActions])

	v := bundle.Revision{State: "Failed", Message: "no"}
	assert.True(t, SetRevision(r, v))
	assert.False(t, SetRevision(r, v), "nothing has changed")
}

// An approval is for exact plans: of one deployment, or of each of several (FLEET.md O1).
func TestToApproval(t *testing.T) {
	one := func(deployment, digest string) v1alpha1.ApprovalSpec {
		return v1alpha1.ApprovalSpec{Deployment: deployment, PlanDigest: digest, Author: "amy"}
	}
	plans := []v1alpha1.ApprovedPlan{{Deployment: "a", PlanDigest: "x"}, {Deployment: "b", PlanDigest: "y"}}
	several := func(digest string) v1alpha1.ApprovalSpec {
		return v1alpha1.ApprovalSpec{Plans: plans, PlanDigest: digest, Author: "amy"}
	}
	sum := bundle.DigestOfPlans(map[string]string{"b": "y", "a": "x"})
	assert.NotEqual(t, sum, bundle.DigestOfPlans(map[string]string{"a": "y", "b": "x"}))
	confirming := one("a", "x")
	confirming.ConfirmedObjects = []string{"Secret a/b"}
	for name, c := range map[string]struct {
		spec               v1alpha1.ApprovalSpec
		deployment, digest string
		approves           bool
		wrong              string
	}{
		"One":             {one("a", "x"), "a", "x", true, ""},
		"OtherPlan":       {one("a", "x"), "a", "z", false, ""},
		"OtherDeployment": {one("a", "x"), "b", "x", false, ""},
		"NotHeld":         {confirming, "a", "x", true, "Secret a/b"},
		"Several":         {several(sum), "b", "y", true, ""},
		"Changed":         {several(sum), "b", "z", false, ""},
		"NoMember":        {several(sum), "c", "x", false, ""},
		"OtherDigest":     {several("x"), "a", "x", true, "planDigest is not that of its plans"},
	} {
		t.Run(name, func(t *testing.T) {
			approval, approves, err := ToApproval(&v1alpha1.Approval{Spec: c.spec}, c.deployment, bundle.Plan{Digest: c.digest})
			assert.Equal(t, c.approves, approves)
			assert.Equal(t, bundle.Approval{PlanDigest: c.digest, By: "amy"}, approval)
			if c.wrong == "" {
				assert.NoError(t, err)
			} else {
				assert.ErrorContains(t, err, c.wrong)
			}
		})
	}
}
