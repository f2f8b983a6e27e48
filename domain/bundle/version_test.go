package bundle_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// A bundle may bring a version of a kind and objects of that version at once: the objects wait for the definition, which is
// there with other versions.
func TestVersionOfTheBundle(t *testing.T) {
	versions := func(names ...string) bundle.Object {
		var all []any
		for _, name := range names {
			all = append(all, map[string]any{"name": name, "served": name != "v0"})
		}
		o := engine()
		o["spec"].(map[string]any)["versions"] = all
		return o
	}
	v8 := object("Engine v8")
	live := map[bundle.ID]bundle.Live{engine().ID(): is(engine(), owner), v8.ID(): {NoAPI: true}}
	p := draft(t, live, nil, versions("v0", "v1"), v8)
	assert.Equal(t, []string{"update CustomResourceDefinition engines.race.example.org", "create Engine v8"}, said(p))
	require.Len(t, p.Unverified, 1)
	_, err := bundle.NewPlan(bundle.Intent{Owner: owner, Sequence: order(t, versions("v0"), v8), Live: live})
	require.ErrorContains(t, err, "the cluster does not have this kind", "no definition of it has the version")
	next := bundle.Step(p, bundle.Record{}, live, bundle.Pace{Now: noon()})
	require.Len(t, next.Apply, 1)
	assert.Equal(t, engine().ID(), next.Apply[0].Object.ID())
}
