package bundle_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// BUNDLES.md 12: what differs is told: what is there, what is wanted, who set it.
func TestDrift(t *testing.T) {
	web, page, init, secret := object("Deployment web"), object("ConfigMap page"), job("init", "true"), object("Secret key")
	optional := object("Engine v8", "optional=IfAPIPresent")
	p := draft(t, map[bundle.ID]bundle.Live{optional.ID(): {NoAPI: true}}, nil, web, page, init, secret, optional)
	run := find(t, p.Sequence, "Job init").ID
	scaled, leaving, fixed, leaked := is(web, owner), is(page, owner, map[string]any{"deletionTimestamp": "2026-01-01T00:00:00Z"}), is(web, owner), is(secret, owner)
	scaled.Changes = []bundle.Change{{Path: "spec.replicas", Before: "5", After: "3", Manager: "kubectl-scale", Ours: true}, {Path: "metadata.annotations[" + bundle.DigestKey + "]", Before: "1", After: "2"}}
	fixed.Immutable = "spec.selector: field is immutable"
	leaked.Changes = []bundle.Change{{Path: "data.password", Before: `"c3dvcmRmaXNo"`, After: `"c2FsbW9u"`, Manager: "kubectl"}}
	ill := func(says string) bundle.Live {
		l := is(web, owner)
		l.Health, l.Says = bundle.InProgress, says
		return l
	}
	illAndScaled := scaled
	illAndScaled.Health = bundle.Failing
	all := func(change map[bundle.ID]bundle.Live) map[bundle.ID]bundle.Live {
		live := map[bundle.ID]bundle.Live{web.ID(): is(web, owner), page.ID(): is(page, owner), run: is(init, owner), secret.ID(): is(secret, owner), optional.ID(): {NoAPI: true}}
		maps.Copy(live, change)
		return live
	}
	old := id("Service old")
	tests := map[string]struct {
		why    string
		live   map[bundle.ID]bundle.Live
		record bundle.Record
		want   []bundle.Difference
	}{
		"None":     {why: "all is as it shall be, and its own marks are nobody's concern"},
		"Field":    {why: "who set it is named", live: map[bundle.ID]bundle.Live{web.ID(): scaled}, want: []bundle.Difference{{ID: web.ID(), What: "was changed", Changes: scaled.Changes[:1]}}},
		"Missing":  {why: "somebody has deleted it", live: map[bundle.ID]bundle.Live{page.ID(): {}}, want: []bundle.Difference{{ID: page.ID(), What: "is missing"}}},
		"Foreign":  {why: "somebody has made it anew", live: map[bundle.ID]bundle.Live{page.ID(): is(page, "")}, want: []bundle.Difference{{ID: page.ID(), What: "is not managed by Orcon"}}},
		"Leaving":  {why: "it is going", live: map[bundle.ID]bundle.Live{page.ID(): leaving}, want: []bundle.Difference{{ID: page.ID(), What: "is being deleted"}}},
		"Fixed":    {why: "it cannot be put right in place", live: map[bundle.ID]bundle.Live{web.ID(): fixed}, want: []bundle.Difference{{ID: web.ID(), What: "was changed: spec.selector: field is immutable"}}},
		"Ill":      {why: "it is as installed, and does not work", live: map[bundle.ID]bundle.Live{web.ID(): ill("0 of 3 available")}, want: []bundle.Difference{{ID: web.ID(), What: "is not healthy: 0 of 3 available"}}},
		"IllWords": {why: "words that follow the name", live: map[bundle.ID]bundle.Live{web.ID(): ill("is not ready yet")}, want: []bundle.Difference{{ID: web.ID(), What: "is not ready yet"}}},
		"IllField": {why: "both", live: map[bundle.ID]bundle.Live{web.ID(): illAndScaled}, want: []bundle.Difference{{ID: web.ID(), What: "was changed and is not healthy: its status shows no reason", Changes: scaled.Changes[:1]}}},
		"Job":      {why: "it has not run", live: map[bundle.ID]bundle.Live{run: {}}, want: []bundle.Difference{{ID: run, What: "is missing"}}},
		"JobDone":  {why: "its TTL has removed it", live: map[bundle.ID]bundle.Live{run: {}}, record: bundle.Record{Completed: []bundle.ID{run}}},
		"Left":     {why: "it could not be deleted", live: map[bundle.ID]bundle.Live{old: is(object("Service old"), owner)}, record: bundle.Record{Inventory: []bundle.Entry{{ID: old}}}, want: []bundle.Difference{{ID: old, What: "is no longer part of the bundle but still exists"}}},
		"LeftGone": {why: "what is gone is no difference", record: bundle.Record{Inventory: []bundle.Entry{{ID: old}}}},
		"Secret": {why: "BUNDLES.md 10: that it differs, not what it holds", live: map[bundle.ID]bundle.Live{secret.ID(): leaked}, want: []bundle.Difference{
			{ID: secret.ID(), What: "was changed", Changes: []bundle.Change{{Path: "data.password", Before: "(secret)", After: "(secret)", Manager: "kubectl"}}},
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, bundle.Drift(p, tc.record, all(tc.live)), tc.why)
		})
	}
}

// Without a dry run, what the bundle does not name is no difference, and a Secret shows nothing.
func TestExpected(t *testing.T) {
	wanted := object("Deployment web", map[string]any{"status": map[string]any{}, "spec": map[string]any{
		"replicas": int64(3), "containers": []any{map[string]any{"name": "web", "image": "2"}, map[string]any{"name": "new"}}}})
	live := object("Deployment web", map[string]any{"spec": map[string]any{
		"replicas": float64(3), "paused": true, "containers": []any{map[string]any{"name": "web", "image": "1", "tty": true}}}})
	assert.Equal(t, []bundle.Change{
		{Path: `spec.containers[name="new"]`, After: `{"name":"new"}`, Ours: true},
		{Path: `spec.containers[name="web"].image`, Before: `"1"`, After: `"2"`, Ours: true},
	}, bundle.Expected(live, wanted))
	assert.Empty(t, bundle.Expected(wanted, wanted))
	secret := func(value string) bundle.Object {
		return object("Secret key", map[string]any{"data": map[string]any{"a": value}})
	}
	assert.Equal(t, []bundle.Change{{Path: "data.a", Before: "(secret)", After: "(secret)", Ours: true}}, bundle.Expected(secret("x"), secret("y")))
}

func TestCompare(t *testing.T) {
	spec := func(of map[string]any) map[string]any { return map[string]any{"spec": of} }
	before := order(t, object("Service gone"), job("init", "true"), object("ConfigMap same"), object("Secret key", map[string]any{"data": map[string]any{"a": "c3dvcmRmaXNo"}}),
		object("Deployment web", spec(map[string]any{"replicas": int64(1), "args": []any{"a", "b"}, "containers": []any{map[string]any{"name": "web", "image": "1"}, map[string]any{"name": "old"}}})))
	after := order(t, object("Service new"), job("init", "false"), object("ConfigMap same"), object("Secret key", map[string]any{"data": map[string]any{"a": "c2FsbW9u"}}),
		object("Deployment web", spec(map[string]any{"paused": true, "args": []any{"a", "c"}, "containers": []any{map[string]any{"name": "side"}, map[string]any{"name": "web", "image": "2"}}})))
	assert.Equal(t, []bundle.Difference{
		{ID: id("Secret key"), What: "was changed", Changes: []bundle.Change{{Path: "data.a", Before: "(secret)", After: "(secret)"}}},
		{ID: id("Service new"), What: "is new"},
		{ID: id("Deployment web"), What: "was changed", Changes: []bundle.Change{
			{Path: "spec.args[1]", Before: `"b"`, After: `"c"`},
			{Path: `spec.containers[name="old"]`, Before: `{"name":"old"}`},
			{Path: `spec.containers[name="side"]`, After: `{"name":"side"}`},
			{Path: `spec.containers[name="web"].image`, Before: `"1"`, After: `"2"`},
			{Path: "spec.paused", After: "true"}, {Path: "spec.replicas", Before: "1"},
		}},
		{ID: id("Job init"), What: "was changed", Changes: []bundle.Change{{Path: `spec.template.spec.containers[name="run"].command[2]`, Before: `"true"`, After: `"false"`}}},
		{ID: id("Service gone"), What: "was removed"},
	}, bundle.Compare(before, after))
}

// What is equal has no difference, and what differs has the same ones both ways.
func TestCompareBothWays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := order(t, version(t, "a", true)...), order(t, version(t, "b", true)...)
		assert.Empty(t, bundle.Compare(a, a))
		there, back := bundle.Compare(a, b), bundle.Compare(b, a)
		assert.Len(t, back, len(there))
		changes := map[bundle.ID][]bundle.Change{}
		for _, d := range there {
			changes[d.ID] = d.Changes
		}
		for _, d := range back {
			assert.Len(t, d.Changes, len(changes[d.ID]))
			for i, c := range d.Changes {
				assert.Equal(t, bundle.Change{Path: c.Path, Before: c.After, After: c.Before}, changes[d.ID][i])
			}
		}
	})
}

func TestActive(t *testing.T) {
	revisions := func(states ...bundle.State) bundle.Record {
		var r bundle.Record
		for i, s := range states {
			r.Revisions = append(r.Revisions, bundle.Revision{Number: i + 1, State: s, Healthy: s == bundle.StateSucceeded || s == bundle.StateSuperseded})
		}
		return r
	}
	assert.Equal(t, 0, revisions().Active())
	assert.Equal(t, 0, revisions(bundle.StateProposed).Active(), "nothing was done yet")
	assert.Equal(t, 1, revisions(bundle.StateActive).Active())
	assert.Equal(t, 2, revisions(bundle.StateSuperseded, bundle.StateSucceeded).Active())
	assert.Equal(t, 1, revisions(bundle.StateSucceeded, bundle.StateProposed).Active())
	assert.Equal(t, 1, revisions(bundle.StateSuperseded, bundle.StateFailed).Active(), "it has no way back")
}
