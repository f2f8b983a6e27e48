package bundle_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// The controller that ends objects goes only when none of them is left, and the refusal has the
// commands (BUNDLES.md 7).
func TestUnusedController(t *testing.T) {
	controller := id("Deployment orcon-system/bundle-controller")
	used := []bundle.Use{
		{Name: "BundleDeployment shop/blog", Delete: "kubectl delete bundledeployments blog -n shop"},
		{Name: "BundleDeployment shop/web", Delete: "kubectl delete bundledeployments web -n shop"},
	}
	p := bundle.Plan{Actions: []bundle.Action{{ID: controller, Verb: bundle.Delete}}}
	var refused *bundle.RefusedError
	require.ErrorAs(t, p.Unused(map[bundle.ID]bundle.Live{controller: {Used: used}}), &refused)
	assert.Equal(t, bundle.InUse, refused.Reason)
	assert.Equal(t, "cannot delete "+controller.String()+": without it these could never be deleted: BundleDeployment shop/blog, BundleDeployment "+
		"shop/web: delete them while it is still running, with the objects that they deployed; an object with annotation orcon.tengu.io/prune: "+
		"Never stays:\nkubectl delete bundledeployments blog -n shop\nkubectl delete bundledeployments web -n shop", refused.Message)
	require.NoError(t, p.Unused(map[bundle.ID]bundle.Live{controller: {}}))
}

// A definition goes only when nobody else has objects of it that would be left without what
// serves them (BUNDLES.md 7).
func TestUnused(t *testing.T) {
	crd := id("CustomResourceDefinition engines.race.example.org")
	tests := map[string]struct {
		why  string
		verb bundle.Verb
		used []bundle.Use
		want string
	}{
		"None":    {why: "nobody has one", verb: bundle.Delete},
		"Owned":   {why: "it goes with its owner", verb: bundle.Delete, used: []bundle.Use{{Name: "Engine a", Owned: true}}},
		"Stays":   {why: "the definition does not go", verb: bundle.Keep, used: []bundle.Use{{Name: "Engine a"}}},
		"Foreign": {why: "its operator would go first", verb: bundle.Delete, used: []bundle.Use{{Name: "Engine a"}, {Name: "Engine b", Owned: true}}, want: "objects of this kind still exist: Engine a: delete them"},
		"Many":    {why: "some are enough", verb: bundle.Delete, used: make([]bundle.Use, 9), want: ", and 4 more: delete them"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			p := bundle.Plan{Actions: []bundle.Action{{ID: crd, Verb: tc.verb}}}
			err := p.Unused(map[bundle.ID]bundle.Live{crd: {Used: tc.used}})
			if tc.want == "" {
				require.NoError(t, err, tc.why)
				return
			}
			var refused *bundle.RefusedError
			require.ErrorAs(t, err, &refused, tc.why)
			assert.Equal(t, bundle.InUse, refused.Reason)
			assert.Contains(t, refused.Message, tc.want, tc.why)
			assert.Contains(t, refused.Message, "kubectl delete engines.race.example.org --all -A")
		})
	}
}
