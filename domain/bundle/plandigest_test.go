package bundle_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Texts for people may change: digests of stored content and plans never do, or an upgrade
// would deploy everything anew.
func TestDigestsStay(t *testing.T) {
	web, db := object("Deployment web", "after=Service/db"), object("Service db")
	p := draft(t, nil, nil, web, db, engine(), object("Engine v8"))
	assert.Equal(t, "019edc098166c54a11da69f12b2878b60a525400448cc8f3700f62b94a2c6d1a", p.ManifestDigest)
	assert.Equal(t, "d3bf0955574b6533f5747c627db1ced08444d5b9527ebbacfa7eefd21fae35fb", p.Digest)
}

// What is approved is what is done: each part of it is in the digest, and what changes
// without changing what is done is not (BUNDLES.md 1).
func TestPlanDigest(t *testing.T) {
	web, db := object("Deployment web"), object("Service db")
	record, live := inventory(t, web, db)
	plan := func(change func(*bundle.Intent), objects ...bundle.Object) bundle.Plan {
		return draft(t, live, func(in *bundle.Intent) {
			in.Record = record
			if change != nil {
				change(in)
			}
		}, objects...)
	}
	planned := plan(nil, web, db)
	newer := each(live, func(l bundle.Live) bundle.Live {
		l.Object = bundle.Object{"apiVersion": l.Object["apiVersion"], "kind": l.Object["kind"], "metadata": map[string]any{
			"name": l.Object.ID().Name, "namespace": "shop", "uid": l.Object.Text("metadata", "uid"), "resourceVersion": "99", "annotations": l.Object.At("metadata", "annotations")}}
		return l
	})
	require.NoError(t, planned.Changed(plan(func(in *bundle.Intent) { in.Live = newer }, db, web)), "versions of live objects, and the order of files")

	for name, tc := range map[string]struct {
		now  bundle.Plan
		want []string
	}{
		"Cluster": {plan(func(in *bundle.Intent) { in.Cluster = "c2" }, web, db), []string{"another cluster"}},
		"UID":     {plan(func(in *bundle.Intent) { in.UID = "u2" }, web, db), []string{"another deployment"}},
		"Base":    {plan(func(in *bundle.Intent) { in.Record.Revisions = nil }, web, db), []string{"another base revision"}},
		"Content": {plan(nil, web, object("Service db", map[string]any{"spec": "x"})), []string{"another content"}},
		"Probes":  {plan(func(in *bundle.Intent) { in.Probes = []bundle.Probe{{Kind: "Engine", Ready: "true"}} }, web, db), []string{"other health checks"}},
		"Delete":  {plan(nil, web), []string{"another content", "no longer: update Service shop/db", "now: delete Service shop/db"}},
		"Create":  {plan(func(in *bundle.Intent) { in.Live = map[bundle.ID]bundle.Live{db.ID(): live[db.ID()]} }, web, db), []string{"no longer: update Deployment shop/web", "now: create Deployment shop/web"}},
		"Conflict": {plan(func(in *bundle.Intent) {
			in.Live = each(live, func(l bundle.Live) bundle.Live {
				l.Changes = []bundle.Change{{Path: "spec.x", Manager: "kubectl"}}
				return l
			})
		}, web, db), []string{
			"now: conflict: Service shop/db has fields that others manage: spec.x (kubectl): leave them out of the bundle, or take them over (conflicts: Take)",
			"now: conflict: Deployment shop/web has fields that others manage: spec.x (kubectl): leave them out of the bundle, or take them over (conflicts: Take)",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var changed *bundle.ChangedError
			require.ErrorAs(t, planned.Changed(tc.now), &changed)
			assert.Equal(t, tc.want, changed.Differences)
			assert.ErrorContains(t, changed, "look at the new plan")
			assert.Error(t, bundle.Approve(tc.now, bundle.Gate{Mode: bundle.ByDigest}, []bundle.Approval{{PlanDigest: planned.Digest}}), "its approval is void")
		})
	}
}

// each changes each live object.
func each(live map[bundle.ID]bundle.Live, change func(bundle.Live) bundle.Live) map[bundle.ID]bundle.Live {
	all := map[bundle.ID]bundle.Live{}
	for id, l := range live {
		all[id] = change(l)
	}
	return all
}

// A plan is the same however often it is made, and in whatever order its inputs come.
func TestNewPlanIsDeterministic(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		objects := drawn(rt)
		record := proceed(t, bundle.Record{}, draft(t, nil, nil, drawn(rt)...))
		live := map[bundle.ID]bundle.Live{}
		for _, e := range record.Inventory {
			if rapid.Bool().Draw(rt, "live") {
				live[e.ID] = is(bundle.Object{"apiVersion": groups[e.ID.Kind], "kind": e.ID.Kind, "metadata": map[string]any{"name": e.ID.Name, "namespace": e.ID.Namespace}}, rapid.SampledFrom([]string{owner, "", "shop/other"}).Draw(rt, "owner"))
			}
		}
		in := bundle.Intent{Owner: owner, Sequence: order(rt, objects...), Live: live, Record: record}
		one, err := bundle.NewPlan(in)
		require.NoError(rt, err)
		other, err := bundle.NewPlan(in)
		require.NoError(rt, err)
		require.Equal(rt, one, other)
		require.NoError(rt, one.Changed(other))
		for _, a := range one.Actions {
			if a.Verb == bundle.Delete {
				situation, _ := live[a.ID].Situation(owner)
				require.Equal(rt, bundle.Ours, situation, "BUNDLES.md 5: nothing of somebody else is deleted")
			}
		}
	})
}
