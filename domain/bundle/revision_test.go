package bundle_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// states lists the revisions as "number state content".
func states(r bundle.Record) []string {
	var all []string
	for _, v := range r.Revisions {
		text := string(v.State)
		if v.Content != v.Number {
			text += " again"
		}
		all = append(all, text)
	}
	return all
}

// must returns the record of a call that succeeds.
func must(t *testing.T) func(bundle.Record, error) bundle.Record {
	return func(r bundle.Record, err error) bundle.Record {
		t.Helper()
		require.NoError(t, err)
		return r
	}
}

// BUNDLES.md 6: on failure the last healthy content becomes the next revision, the failed
// one is in quarantine, and what fails on the way back is not tried for ever.
func TestRecordWayBack(t *testing.T) {
	ok := must(t)
	good := draft(t, nil, nil, object("Deployment web"), engine(), job("init", "true"))
	r := proceed(t, bundle.Record{}, good)
	plan := func(objects ...bundle.Object) bundle.Plan {
		return draft(t, nil, func(in *bundle.Intent) { in.Record = r }, objects...)
	}
	bad := plan(object("Deployment web"), engine(), object("Service new"), object("PersistentVolumeClaim new"))
	r = ok(r.Propose(bad))
	assert.Equal(t, []string{"Succeeded", "Proposed"}, states(r))
	_, found := r.WayBack()
	assert.False(t, found, "nothing has failed")
	r = ok(r.Activate(bad, time.Unix(0, 0)))
	r = ok(r.Fail("Deployment web: quota exceeded"))
	assert.Equal(t, []string{bad.ManifestDigest}, r.Quarantined)

	content, found := r.WayBack()
	require.True(t, found)
	assert.Equal(t, 1, content)
	live := map[bundle.ID]bundle.Live{}
	for _, e := range r.Inventory {
		live[e.ID] = is(bundle.Object{"apiVersion": groups[e.ID.Kind], "kind": e.ID.Kind, "metadata": map[string]any{"name": e.ID.Name, "namespace": e.ID.Namespace}}, owner)
	}
	back, err := bundle.NewPlan(bundle.Intent{Cluster: "c1", UID: "u1", Owner: owner, Sequence: good.Sequence.Back(), Live: live, Record: r, Back: content})
	require.NoError(t, err)
	assert.Equal(t, []string{"none CustomResourceDefinition engines.race.example.org", "update Deployment web", "none Job " + good.Sequence[2].ID.Name, "delete Service new"}, said(back),
		"definitions stay, Jobs are not run again, and a volume waits for the next plan")
	assert.Equal(t, good.ManifestDigest, back.ManifestDigest)
	r = ok(r.Return(back, time.Unix(0, 0)))
	assert.Equal(t, []string{"Succeeded", "Failed", "Active again"}, states(r))

	_, err = r.Return(back, time.Unix(0, 0))
	require.Error(t, err, "it has begun")
	failed := ok(r.Fail("Deployment web: quota exceeded"))
	_, found = failed.WayBack()
	assert.False(t, found, "no flapping: this waits for a person")
	assert.Equal(t, r.Quarantined, failed.Quarantined, "what was healthy once may be healthy again")

	r = ok(r.Succeed())
	assert.Equal(t, []string{"Superseded", "Failed", "Succeeded again"}, states(r))
	number, content := r.Healthy()
	assert.Equal(t, []int{3, 1}, []int{number, content})
	assert.Contains(t, r.Inventory, bundle.Entry{ID: id("PersistentVolumeClaim new"), Origin: id("PersistentVolumeClaim new"), Phase: bundle.Storage})

	_, err = r.Propose(plan(object("Deployment web"), engine(), object("Service new"), object("PersistentVolumeClaim new")))
	require.ErrorIs(t, err, bundle.ErrQuarantined)
	r = ok(r.Release(bad.ManifestDigest).Propose(bad))
	assert.Equal(t, 4, r.Last().Number)
}

// A first revision that fails has no way back, and nothing that it made is deleted.
func TestRecordFirstFails(t *testing.T) {
	ok := must(t)
	p := draft(t, nil, nil, object("Deployment web"))
	r := ok(ok(ok(bundle.Record{}.Propose(p)).Activate(p, time.Unix(0, 0))).Fail("x"))
	_, found := r.WayBack()
	assert.False(t, found)
	assert.Len(t, r.Inventory, 1)
	assert.Equal(t, "x", r.Last().Message)
}

func TestRecordMoves(t *testing.T) {
	ok := must(t)
	one, other := draft(t, nil, nil, object("Deployment web")), draft(t, nil, nil, object("Service web"))
	r := ok(bundle.Record{}.Propose(one))
	assert.Equal(t, r, ok(r.Propose(one)), "the same again is no news")
	before := r
	r = ok(r.Propose(other))
	assert.Equal(t, []string{"Superseded", "Proposed"}, states(r))
	assert.Equal(t, []string{"Proposed"}, states(before), "a record never changes")
	_, err := r.Activate(one, time.Unix(0, 0))
	require.Error(t, err, "only what was proposed last begins")
	_, err = r.Succeed()
	require.Error(t, err)
	_, err = r.Fail("")
	require.Error(t, err)
	_, err = r.Return(other, time.Unix(0, 0))
	require.Error(t, err)
	r = ok(r.Activate(other, time.Unix(0, 0)))
	r = ok(ok(r.Propose(one)).Activate(one, time.Unix(0, 0)))
	assert.Equal(t, []string{"Superseded", "Superseded", "Active"}, states(r))
	assert.Len(t, r.Inventory, 2, "what the unfinished one may have made is not forgotten")
}

func TestRecordReturnIsHeld(t *testing.T) {
	ok := must(t)
	web, claim := object("Deployment web"), object("PersistentVolumeClaim data")
	good := draft(t, nil, nil, web, claim)
	r := proceed(t, bundle.Record{}, good)
	bad := draft(t, nil, func(in *bundle.Intent) { in.Record = r }, web)
	r = ok(ok(ok(r.Propose(bad)).Activate(bad, time.Unix(0, 0))).Fail("x"))
	back := func(l bundle.Live, named bundle.ID) bundle.Plan {
		p, err := bundle.NewPlan(bundle.Intent{Owner: owner, Sequence: good.Sequence.Back(), Live: map[bundle.ID]bundle.Live{named: l}, Record: r, Back: 1})
		require.NoError(t, err)
		return p
	}
	immutable := is(claim, owner)
	immutable.Immutable = "spec is immutable"
	_, err := r.Return(back(immutable, claim.ID()), time.Unix(0, 0))
	require.ErrorContains(t, err, "cannot be undone")
	_, err = r.Return(back(is(web, "shop/other"), web.ID()), time.Unix(0, 0))
	require.ErrorContains(t, err, "is managed by deployment shop/other")
}

func TestRecordForget(t *testing.T) {
	r := bundle.Record{Revisions: []bundle.Revision{
		{Number: 1, Content: 1, Healthy: true}, {Number: 2, Content: 2}, {Number: 3, Content: 1, Healthy: true},
		{Number: 4, Content: 4}, {Number: 5, Content: 5}, {Number: 6, Content: 6, State: bundle.StateProposed},
	}}
	numbers := func(r bundle.Record) []int {
		var all []int
		for _, v := range r.Revisions {
			all = append(all, v.Number)
		}
		return all
	}
	assert.Equal(t, []int{1, 3, 5, 6}, numbers(r.Forget(2)), "the way back and its content stay")
	assert.Equal(t, []int{1, 2, 3, 4, 5, 6}, numbers(r.Forget(0)))
}
