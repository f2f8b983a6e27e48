package bundle_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// A workload of another kind is created when the one of its name is gone, where the deployment asks for
// that (FLEET-DESIGN 17); elsewhere it is created beside it (BUNDLES.md 3).
func TestSuccessor(t *testing.T) {
	before, after := object("Deployment web"), object("StatefulSet web")
	record, live := inventory(t, before)
	first := func(in *bundle.Intent) { in.Record, in.KindChange = record, bundle.DeleteFirst }
	p := draft(t, live, first, after)
	require.Equal(t, []string{"create StatefulSet web", "delete Deployment web"}, said(p))
	assert.Equal(t, "Deployment shop/web is deleted first", p.Actions[0].Why)

	record = proceed(t, record, p)
	next := bundle.Step(p, record, live, bundle.Pace{Now: noon()})
	assert.Empty(t, next.Apply, "both would run")
	require.Len(t, next.Delete, 1)
	assert.Equal(t, before.ID(), next.Delete[0].ID)

	going := is(before, owner, map[string]any{"deletionTimestamp": "x", "finalizers": []any{"foregroundDeletion"}})
	next = bundle.Step(p, record, map[bundle.ID]bundle.Live{before.ID(): going}, bundle.Pace{Now: noon()})
	assert.Empty(t, next.Apply, "its pods still end")
	assert.Empty(t, next.Delete)
	require.Len(t, next.Waits, 1)
	assert.Equal(t, "waits for the end of Deployment shop/web, which is being deleted and waits for finalizers foregroundDeletion", next.Waits[0].For)

	next = bundle.Step(p, record, nil, bundle.Pace{Now: noon()})
	require.Len(t, next.Apply, 1)
	assert.Equal(t, after.ID(), next.Apply[0].Object.ID())

	stateful := is(before, owner)
	stateful.Object["spec"] = map[string]any{"volumeClaimTemplates": []any{map[string]any{}}}
	live[before.ID()] = stateful
	assert.Equal(t, "Deployment shop/web is deleted first; its claims stay", draft(t, live, first, after).Actions[0].Why)

	beside := draft(t, live, func(in *bundle.Intent) { in.Record = record }, after)
	next = bundle.Step(beside, record, live, bundle.Pace{Now: noon()})
	assert.Len(t, next.Apply, 1)
	assert.Empty(t, next.Delete)
	assert.NotEqual(t, beside.Digest, p.Digest, "a person approves one or the other")
}

// What stays, was adopted, or is another deployment's by now is not deleted for a successor.
func TestNoPredecessor(t *testing.T) {
	after := object("StatefulSet web")
	for name, tc := range map[string]struct {
		before bundle.Object
		change func(*bundle.Intent)
	}{
		"Never":       {before: object("Deployment web", "prune=Never")},
		"OtherName":   {before: object("Deployment api")},
		"NoWorkload":  {before: object("Service web")},
		"Adopted":     {before: object("Deployment web"), change: func(in *bundle.Intent) { in.Record.Originals = bundle.Originals{{ID: id("Deployment web")}} }},
		"Another's":   {before: object("Deployment web"), change: func(in *bundle.Intent) { in.Live[id("Deployment web")] = is(object("Deployment web"), "shop/other") }},
		"Unconfirmed": {before: object("Deployment web"), change: func(in *bundle.Intent) { in.Back, in.ConfirmKinds = 1, []string{"Deployment"} }},
	} {
		t.Run(name, func(t *testing.T) {
			record, live := inventory(t, tc.before)
			p := draft(t, live, func(in *bundle.Intent) {
				in.Record, in.KindChange = record, bundle.DeleteFirst
				if tc.change != nil {
					tc.change(in)
				}
			}, after)
			assert.Empty(t, p.Actions[0].Why)
			assert.Equal(t, bundle.ID{}, p.Actions[0].Follows)
		})
	}
}

// However its kind changes, and whenever a process is killed, two workloads of one name never stand side by side, and what
// succeeds at last stands alone.
func TestSuccessorsNeverStandSideBySide(t *testing.T) {
	kinds := []string{"Deployment", "StatefulSet", "DaemonSet"}
	changes := 0
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		w.kindChange = bundle.DeleteFirst
		w.kills = rapid.SliceOfN(rapid.IntRange(0, 9), 1, 25).Draw(t, "kills")
		last := ""
		for i := range rapid.IntRange(2, 5).Draw(t, "versions") {
			kind := rapid.SampledFrom(kinds).Draw(t, "kind")
			spec := map[string]any{"ready": strconv.Itoa(rapid.IntRange(0, 2).Draw(t, "ready"))}
			if i > 0 && rapid.IntRange(0, 3).Draw(t, "fail") == 0 {
				spec["fail"] = "true"
			}
			if last != "" && last != kind {
				changes++
			}
			last = kind
			w.wish = []bundle.Object{
				object("ConfigMap settings", map[string]any{"spec": map[string]any{"ready": "0", "version": strconv.Itoa(i)}}),
				object(kind+" web", map[string]any{"spec": spec}),
			}
			w.settle(t)
			assert.Len(t, w.workloads(), 1, "after version %d", i)
		}
	})
	assert.Greater(t, changes, 100, "hardly a kind has changed")
}
