package bundle_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// An object that another deployment has taken over since the revision succeeded stays there: two deployments that both take
// it would fight for ever. That is reported, and nothing else is held up (BUNDLES.md 5 and 12).
func TestCorrectLeavesWhatAnotherTook(t *testing.T) {
	door, settings := object("Ingress door"), object("ConfigMap settings")
	foreign := object("Ingress door", map[string]any{"metadata": map[string]any{
		"name": "door", "namespace": "shop", "uid": "u", "resourceVersion": "1", "annotations": map[string]any{"meta.helm.sh/release-name": "old"},
	}})
	p := draft(t, map[bundle.ID]bundle.Live{door.ID(): {Object: foreign}}, func(in *bundle.Intent) { in.Conflicts = bundle.TakeAll }, door, settings)
	require.Empty(t, p.Conflicts)
	taken := applied(find(t, p.Sequence, "Ingress door"), func(l *bundle.Live) {
		l.Object["metadata"].(map[string]any)["annotations"] = map[string]any{bundle.OwnerKey: "shop/other"}
	})
	next := bundle.Correct(p, bundle.Record{}, map[bundle.ID]bundle.Live{door.ID(): taken}, bundle.Pace{Now: noon()})
	require.Len(t, next.Apply, 1, "only what was deleted")
	assert.Equal(t, settings.ID(), next.Apply[0].Object.ID())
	require.Len(t, next.Failures, 1)
	assert.Contains(t, next.Failures[0].String(), "door: it already exists and is managed by deployment shop/other")
}

// TRUST.md T9: an adopted object that loses Orcon's marks is adopted again with the values that it had before the first time.
func TestCorrectKeepsTheOriginal(t *testing.T) {
	door := object("Ingress door")
	found := is(door, "")
	p := draft(t, map[bundle.ID]bundle.Live{door.ID(): found}, func(in *bundle.Intent) { in.Conflicts = bundle.AdoptUnowned }, door)
	before := []bundle.OriginalField{{Path: "spec.rules", Value: "theirs"}}
	originals, _ := bundle.Originals(nil).Overwrite([]bundle.Write{{Object: door, ResourceVersion: "7", Adopts: true, Fields: before}})
	unmarked := is(door, "")
	unmarked.Fields = []bundle.OriginalField{{Path: "spec.rules", Value: "ours"}}
	next := bundle.Correct(p, bundle.Record{Originals: originals}, map[bundle.ID]bundle.Live{door.ID(): unmarked}, bundle.Pace{Now: noon()})
	require.Len(t, next.Apply, 1)
	originals, _ = originals.Overwrite(next.Apply)
	assert.Equal(t, bundle.Originals{{ID: door.ID(), Fields: before}}, originals)
}

// An object that is to be made again is not deleted if another owner has taken it since the plan (BUNDLES.md 5).
func TestStepReplacesNothingOfOthers(t *testing.T) {
	web, init := object("Deployment web"), order(t, job("init", "true"))[0].Object
	fixed, failed := is(web, owner), is(init, owner)
	fixed.Immutable = "spec.selector: field is immutable"
	failed.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Failed", "status": "True"}}}
	p := draft(t, map[bundle.ID]bundle.Live{web.ID(): fixed, init.ID(): failed}, nil, web, job("init", "true"))
	require.Equal(t, []string{"recreate Deployment web", "run Job " + init.ID().Name}, said(p))
	for _, by := range []string{"", "shop/other"} {
		live := map[bundle.ID]bundle.Live{web.ID(): is(web, by), init.ID(): is(init, by)}
		next := bundle.Step(p, bundle.Record{}, live, bundle.Pace{Now: noon()})
		assert.Empty(t, next.Delete, by)
		require.NotEmpty(t, next.Failures, by)
		assert.Contains(t, next.Failures[0].String(), "which the plan did not expect: plan again")
	}
}
