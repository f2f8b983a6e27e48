package bundle_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// uninstall goes through the deletions of all that is live; stays are those that a
// finalizer keeps, and used what holds something of others.
func uninstall(t *testing.T, p bundle.Plan, r bundle.Record, live map[bundle.ID]bundle.Live) (rounds [][]string, last bundle.Pruned, left bundle.Record) {
	t.Helper()
	for range 20 {
		last = bundle.Prune(p, r, live)
		r = r.Drop(last.Gone...)
		if len(last.Delete) == 0 {
			return rounds, last, r
		}
		var round []string
		for _, d := range last.Delete {
			require.Equal(t, live[d.ID].Object.Text("metadata", "uid"), d.UID, "BUNDLES.md 2: only that very object")
			require.Equal(t, "7", d.ResourceVersion)
			round = append(round, d.ID.Kind+" "+d.ID.Name)
			delete(live, d.ID)
		}
		rounds = append(rounds, round)
	}
	require.Fail(t, "it does not end")
	return nil, last, r
}

// BUNDLES.md 7: dependents first, reverse phases, custom resources before their operator,
// definitions last; what of others would go with it stays, and finalizers are waited for.
func TestUninstall(t *testing.T) {
	objects := []bundle.Object{
		object("Namespace shop"), engine(), object("Secret key"), object("Secret kept", "prune=Never"), object("Service web"),
		object("Deployment operator"), object("Deployment web", "after=Deployment/operator"), object("Engine v8"),
		object("ValidatingWebhookConfiguration judge", "phase=services"),
	}
	record, live := inventory(t, objects...)
	all := func(in *bundle.Intent) { in.Record, in.Uninstall = record, true }
	p := draft(t, live, all)

	rounds, last, rest := uninstall(t, p, record, each(live, func(l bundle.Live) bundle.Live { return l }))
	assert.Equal(t, [][]string{
		{"Engine v8"}, {"ValidatingWebhookConfiguration judge"}, {"Deployment web"}, {"Deployment operator"}, {"Service web"}, {"Secret key"}, {"Namespace shop"}, {"CustomResourceDefinition engines.race.example.org"},
	}, rounds)
	assert.Empty(t, rest.Inventory)
	assert.Empty(t, last.Waits)
	assert.True(t, bundle.Prune(p, rest, nil).Done())

	stuck := each(live, func(l bundle.Live) bundle.Live { return l })
	stuck[id("Engine v8")] = is(object("Engine v8"), owner, map[string]any{"deletionTimestamp": "x", "finalizers": []any{"operator"}})
	rounds, last, rest = uninstall(t, p, record, stuck)
	assert.Empty(t, rounds)
	assert.Equal(t, "is being deleted and waits for finalizers operator", last.Waits[0].For)
	assert.Equal(t, "waits for the deletion of Engine.race.example.org shop/v8", last.Waits[1].For)
	assert.Len(t, rest.Inventory, len(objects)-1, "only what was let go is forgotten")

	used := each(live, func(l bundle.Live) bundle.Live { return l })
	definition := used[engine().ID()]
	definition.Used = []bundle.Use{{Name: "Engine office/v12"}}
	used[engine().ID()] = definition
	rounds, last, rest = uninstall(t, p, record, used)
	assert.Len(t, rounds, 7)
	require.Len(t, last.Waits, 1)
	assert.Contains(t, last.Waits[0].For, "Engine office/v12")
	assert.Len(t, rest.Inventory, 1)

	definition.Used = []bundle.Use{{Name: "Engine office/v12", Delete: "kubectl delete engines v12 -n office"}}
	used[engine().ID()] = definition
	_, last, _ = uninstall(t, p, record, used)
	assert.Equal(t, "is kept: without it Engine office/v12 could never be deleted: delete those first: kubectl delete engines v12 -n office", last.Waits[0].For)
}

// BUNDLES.md 3: what left stays in the inventory until it is gone, and nothing goes to
// which nobody agreed.
func TestPrune(t *testing.T) {
	web, db, cache := object("Deployment web"), object("Service db"), object("Service cache")
	record, live := inventory(t, web, db, cache)
	delete(live, cache.ID())
	p := draft(t, live, func(in *bundle.Intent) { in.Record = record }, web)
	record = proceed(t, record, p)

	pruned := bundle.Prune(p, record, live)
	assert.Equal(t, []bundle.Deletion{{ID: db.ID(), UID: "uid-db", ResourceVersion: "7"}}, pruned.Delete)
	assert.Equal(t, []bundle.ID{cache.ID()}, pruned.Gone)
	record = record.Drop(pruned.Gone...)

	refused := live[db.ID()]
	refused.Says = "a webhook refuses it"
	live[db.ID()] = refused
	pruned = bundle.Prune(p, record, live)
	assert.Len(t, pruned.Delete, 1, "it is tried again")
	assert.Equal(t, "a webhook refuses it", pruned.Waits[0].For)
	assert.Empty(t, pruned.Gone)

	live[db.ID()] = is(db, "shop/other")
	pruned = bundle.Prune(p, record, live)
	assert.Empty(t, pruned.Delete, "it is another's by now")
	assert.Equal(t, []bundle.ID{db.ID()}, pruned.Gone)

	later := draft(t, nil, func(in *bundle.Intent) { in.Record = record }, web)
	live[db.ID()] = is(db, owner)
	assert.Empty(t, bundle.Prune(later, record, live).Delete, "it came back after the plan: the next one lists it")
}

// A deployment that leaves its objects takes its marks off them, in one round; what is being deleted is let go.
func TestOrphan(t *testing.T) {
	record, live := inventory(t, object("Secret kept", "prune=Never"), object("Service web"), object("Deployment web"))
	live[id("Service web")] = is(object("Service web"), "shop/other")
	live[id("Deployment web")] = is(object("Deployment web"), owner, map[string]any{"deletionTimestamp": "x", "finalizers": []any{"operator"}})
	p := bundle.Orphan(owner, record)
	pruned := bundle.Prune(p, record, live)
	require.Len(t, pruned.Delete, 1)
	assert.Equal(t, &bundle.Original{ID: id("Secret kept")}, pruned.Delete[0].Original, "nothing but the marks")
	assert.Equal(t, []bundle.ID{id("Service web")}, pruned.Gone, "of another deployment")
	live[id("Secret kept")] = is(object("Secret kept"), "")
	pruned = bundle.Prune(p, record.Drop(pruned.Gone...), live)
	assert.True(t, bundle.Prune(p, record.Drop(id("Service web"), id("Secret kept")), live).Done())
	assert.Equal(t, []bundle.ID{id("Secret kept")}, pruned.Gone)
}
