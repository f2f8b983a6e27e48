package negotiation_test

import (
	"cmp"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/negotiation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// withoutStatus returns a relation as a restore leaves it.
func withoutStatus(r relation.Relation) relation.Relation {
	r.State = relation.State{ID: r.State.ID, ProviderUID: r.State.ProviderUID, Began: r.State.Began}
	return r
}

// What is restored before the workloads that declare it is kept, in each order: units and their numbers, the last data of
// an endpoint, and relations (TRUST.md T5).
func TestRestoredBeforeWorkloads(t *testing.T) {
	before := newWorld()
	before.deployment("db", map[string]string{application.KeyProvides: "main:pg", "data.tengu.io/main": "host: db"})
	before.consumes("web", "store:pg", "db", application.KeyRetain, "0s")
	before.pod(application.Deployment, "web", "web-0")
	before.settle(t)
	was := before.only(t)
	parts := map[string]func(w *world){
		"databags": func(w *world) { w.databags = maps.Clone(before.databags) },
		"records": func(w *world) {
			for name, r := range before.records {
				units, next := r.State.Units, r.State.NextUnit
				w.records[name] = relation.Record{Name: name, UID: w.uid(), State: relation.ApplicationState{Units: units, NextUnit: next}}
			}
		},
		"counter": func(w *world) { w.lastRelation = before.lastRelation },
		"relations": func(w *world) {
			w.relations = map[string]kept{was.Name: {withoutStatus(was), true}}
		},
	}
	for _, order := range [][]string{
		{"databags", "records", "counter", "relations"}, {"relations", "records", "databags", "counter"},
		{"counter", "records", "databags", "relations"},
	} {
		w := newWorld()
		for _, part := range order {
			parts[part](w)
			w.settle(t)
			w.later(t, time.Hour)
		}
		require.Equal(t, was.UID, w.only(t).UID, order)
		assert.Equal(t, 1, w.records["web"].State.NextUnit, order)
		assert.NotEmpty(t, w.databags[relation.DatabagName("db", "main")].Data, order)

		w.deployment("db", map[string]string{application.KeyProvides: "main:pg", "data.tengu.io/main": "host: db"})
		w.consumes("web", "store:pg", "db", application.KeyRetain, "0s")
		w.settle(t)
		assert.Equal(t, was.State.ID, w.only(t).State.ID, order)
		assert.True(t, ready(w.only(t)).True, order)
		w.clear()
		w.later(t, 3*time.Hour)
		assert.Empty(t, w.records, "what was seen and is gone is forgotten: %v", order)
		assert.Empty(t, w.databags, order)
	}
}

// A relation that was open is one that the provider knows, also after a restore without status and before the Offer is
// renewed: what it waits for is the Offer, and its end reaches the provider (TRUST.md T2, T5, T8).
func TestRestoredRelationIsKnownToItsProvider(t *testing.T) {
	w, was := borrower(t)
	r := w.relations[was.Name]
	r.Relation = withoutStatus(r.Relation)
	w.relations[was.Name] = r
	w.abroad[0].Offers, w.abroad[0].UID = []relation.Offer{earlier(offer("main", namespace))}, "uid-of-a-restored-bank"
	w.settle(t)
	assert.Equal(t, relation.ReasonNamespaceReplaced, ready(w.only(t)).Reason)
	assert.Equal(t, relation.Suspended, w.only(t).State.Status)
	w.remove(was.Name, was.UID)
	w.settle(t)
	w.later(t, time.Hour)
	assert.Equal(t, was.UID, w.only(t).UID, "it waits for the provider's side")
	w.abroad[0].Sides[0].Teardown = &relation.Teardown{Since: w.now, Reason: relation.EndDeleted}
	w.settle(t)
	assert.Empty(t, w.relations)
}

// The provider takes note of the end of such a relation, also if its own namespace was restored (TRUST.md T2, T8).
func TestRestoredProviderTakesNoteOfAnEnd(t *testing.T) {
	w := lender(t)
	is := borrows("office", epoch())
	is.State.SuspendedSince, is.State.ProviderUID = time.Time{}, uidOf(namespace)
	w.consumers = []relation.Relation{is}
	w.settle(t)
	name := is.SideName(application.Provider)
	require.Contains(t, w.sides, name)

	w.namespaceUID, w.elsewhere = "uid-of-a-restored-one", map[string]string{"office": "uid-of-a-restored-office"}
	w.consumers[0] = withoutStatus(is)
	w.settle(t)
	suspended, found := condition.Find(w.records["db"].State.Conditions, condition.Suspended)
	require.True(t, found)
	assert.Equal(t, relation.ReasonNamespaceReplaced, suspended.Reason)
	w.consumers[0].Deleted, w.consumers[0].State.EndReason = w.now, relation.EndDeleted
	decisions, _ := negotiation.Negotiate(w.observe())
	var noted bool
	for _, d := range decisions {
		k, is := d.(relation.Keep)
		noted = noted || is && k.Name() == name && k.Teardown != nil
	}
	assert.True(t, noted, "%v", decisions)
}

// A record that is lost alone gives no number again that a bag or an outbox has. Units of an unknown pod are gone, and what
// they said goes when it would with them; a pod of a StatefulSet is its unit again (TRUST.md T5).
func TestNumbersOfALostRecordAreNotGivenAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		kind application.WorkloadKind
		// writer is the pod that wrote as unit 0.
		writer string
		number int
	}{
		"Deployment":              {application.Deployment, "web-0", 0},
		"AnotherPod":              {application.Deployment, "another", 6},
		"WriterUnknown":           {application.Deployment, "", 6},
		"StatefulSet":             {application.StatefulSet, "web-0", 0},
		"StatefulSetsPodReplaced": {application.StatefulSet, "another", 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.deployment("db", map[string]string{application.KeyProvides: "main:pg"})
			w.workload(tc.kind, "web", map[string]string{application.KeyConsumes: "store:pg", application.KeyRelations: "db"})
			w.pod(tc.kind, "web", "web-0")
			if pod := w.pods["web-0"]; tc.kind == application.StatefulSet {
				pod.Ordinal = 0
				w.pods["web-0"] = pod
				web := w.workloads["StatefulSet/web"]
				web.Replicas = 1
				w.workloads["StatefulSet/web"] = web
			}
			w.settle(t)
			said := relation.Databag{Application: "web", Endpoint: "store", Relation: w.only(t).UID, Unit: "0", PodUID: cmp.Or(w.pods[tc.writer].UID, tc.writer), Data: map[string]string{"a": "b"}}
			w.databags[said.Name()] = bag{said, true}
			w.settle(t)

			for _, o := range []relation.Outbox{{Application: "web", Unit: "5", Holds: true}, {Application: "api", Unit: "9", Holds: true}} {
				w.outboxes[o.Name()] = o
			}
			delete(w.records, "web")
			w.settle(t)
			pod := w.pods["web-0"].UID
			of := func() (number int) {
				for _, u := range w.records["web"].State.Units {
					if u.PodUID == pod {
						number = u.Number
					}
				}
				return number
			}
			assert.Equal(t, tc.number, of())
			assert.GreaterOrEqual(t, w.records["web"].State.NextUnit, 6)
			assert.Contains(t, w.databags, said.Name())
			w.later(t, 2*time.Hour)
			assert.Equal(t, tc.number, of())
			if tc.number == 0 {
				assert.Contains(t, w.databags, said.Name(), "its unit lives")
			} else {
				assert.NotContains(t, w.databags, said.Name(), "its unit has been gone for an hour")
			}
		})
	}
}

// A Relation that was restored alone, after its end, waits until that is handled or waived, and goes on: its sides are made
// again, and its status says so meanwhile (TRUST.md T2, T5).
func TestRestoredAfterItsEnd(t *testing.T) {
	for name, role := range map[string]application.Role{"Provider": application.Provider, "Requirer": application.Requirer} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.deployment("db", map[string]string{application.KeyProvides: "main:pg", "data.tengu.io/main": "host: db"})
			w.consumes("web", "store:pg", "db")
			if role == application.Provider {
				w.handling(application.Deployment, "db", "db-0")
				w.pod(application.Deployment, "web", "web-0")
			} else {
				w.handling(application.Deployment, "web", "web-0")
			}
			w.settle(t)
			was := w.relations[w.only(t).Name]
			side := func() relation.Side { return w.sides[was.SideName(role)] }
			require.True(t, side().Known)
			w.consumes("web", "store:pg", "")
			w.remove(was.Name, was.UID)
			w.settle(t)
			w.later(t, time.Minute)
			require.Empty(t, w.relations)
			require.True(t, side().Owes())

			t.Log("restored while the end is owed")
			w.consumes("web", "store:pg", "db")
			w.relations[was.Name] = kept{withoutStatus(was.Relation), true}
			w.settle(t)
			assert.True(t, side().Owes(), "it was not handled")
			assert.Equal(t, relation.ReasonEndOwed, ready(w.only(t)).Reason)
			assert.Contains(t, ready(w.only(t)).Message, "is owed to ")

			t.Log("handled")
			is := side()
			end := *is.Teardown
			end.Debt = end.Answered(conversation.Unit{Application: is.Here().Application, Number: 0}, true)
			is.Teardown = &end
			w.sides[is.Name()] = is
			w.settle(t)
			assert.Nil(t, side().Teardown, "the relation goes on")
			assert.True(t, side().Known)
			assert.Equal(t, was.UID, side().Relation)
			assert.Equal(t, was.UID, w.only(t).UID)
			assert.True(t, ready(w.only(t)).True, ready(w.only(t)).Message)
		})
	}
}
