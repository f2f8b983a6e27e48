package negotiation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// A relation whose handlers have handled a departure long since is not owed it again because another relation of the unit
// still is, and its record has it (SAFETY.md E15). In the end both forget it (P2).
func TestDeparturesAreOwedOnce(t *testing.T) {
	w := newWorld()
	w.consumes("web", "store:pg,more:redis", "db,cache")
	for app, provides := range map[string]string{"db": "main:pg", "cache": "main:redis"} {
		w.deployment(app, map[string]string{application.KeyProvides: provides, "data.tengu.io/main": "host: " + app})
		w.handling(application.Deployment, app, app+"-0")
	}
	for _, name := range []string{"web-0", "web-1"} {
		w.pod(application.Deployment, "web", name)
		w.address(name, "10.0.1.1")
	}
	w.settle(t)
	owed := func(to string) *conversation.Departure {
		for _, d := range w.between(t, to).State.Departures {
			return &d
		}
		return nil
	}
	handled := func(to string) {
		r := w.between(t, to)
		for i, d := range r.State.Departures {
			for _, by := range d.Owed {
				d = d.Answered(by, conversation.Answer{Unit: d.Unit, Since: d.Since, Handled: true})
			}
			r.State.Departures[i] = d
		}
		w.setState(r.Name, r.State)
	}
	delete(w.pods, "web-0")
	w.settle(t)
	const db, cache = "web:store-db:main", "web:more-cache:main"
	require.NotEmpty(t, owed(db).Owed)
	require.NotEmpty(t, owed(cache).Owed)
	handled(db)
	w.settle(t)
	for range 3 {
		w.later(t, 2*time.Hour)
		if d := owed(db); d != nil {
			assert.True(t, d.Over(), "db has handled it")
		}
		require.NotEmpty(t, owed(cache).Owed)
	}
	handled(cache)
	w.settle(t)
	w.later(t, 2*time.Hour)
	assert.Nil(t, owed(db))
	assert.Nil(t, owed(cache))
	assert.Len(t, w.records["web"].State.Units, 1)
}

// A provider in another namespace remembers who departed until the relation has noted it, however long the controller is
// away in between; and the relation notes it then (SAFETY.md E15, TRUST.md A11).
func TestDeparturesAbroadAreNoted(t *testing.T) {
	t.Run("Provider", func(t *testing.T) {
		w := newWorld()
		w.deployment("db", map[string]string{application.KeyProvides: "main:pg", "data.tengu.io/main": "host: db"})
		w.offers["all"] = relation.Offer{Namespace: namespace, Name: "all", Application: "db", Endpoint: "main", Consumers: known("office")}
		w.handling(application.Deployment, "db", "db-0")
		w.handling(application.Deployment, "db", "db-1")
		is := borrows("office", time.Time{})
		is.Created = w.now
		w.consumers = []relation.Relation{is}
		w.settle(t)
		w.now = w.now.Add(time.Minute)
		delete(w.pods, "db-1")
		w.settle(t)
		require.Len(t, w.records["db"].State.Units, 2)

		w.later(t, 3*time.Hour)
		require.Len(t, w.records["db"].State.Units, 2, "the relation has yet to note it")
		gone := w.records["db"].State.Units[1]
		noted := conversation.Departure{
			Unit: is.Unit(is.Provider, 1), Reason: conversation.Reason(gone.Gone), Since: gone.GoneSince,
			Debt: conversation.Debt{Handled: true}, OverSince: w.now,
		}
		is.State.Departures = []conversation.Departure{noted}
		w.consumers = []relation.Relation{is}
		w.later(t, time.Minute)
		require.Len(t, w.records["db"].State.Units, 2)
		w.later(t, 2*time.Hour)
		assert.Len(t, w.records["db"].State.Units, 1, "the relation remembers it no more")
	})
	for name, handlers := range map[string]bool{"Requirer": true, "VacantRequirer": false} {
		t.Run(name, func(t *testing.T) {
			w, r := borrower(t)
			if handlers {
				w.handling(application.Deployment, "web", "web-2")
			} else {
				delete(w.pods, "web-1")
				w.settle(t)
				w.later(t, 3*time.Hour)
			}
			w.later(t, time.Minute)
			vault := &w.abroad[0].Records[0].State
			gone := application.Unit{Number: 1, PodUID: "v1", Address: "10.0.0.2", Since: w.now, Gone: application.GoneReplaced, GoneSince: w.now}
			vault.Units, vault.NextUnit = append(vault.Units, gone), 2
			w.later(t, 3*time.Hour)
			unit := r.Unit(r.Provider, 1).String()
			require.Contains(t, w.departures(t), unit)
			assert.Equal(t, handlers, !w.only(t).State.Departures[0].Over(), "without a unit it is owed to none")
			w.later(t, 3*time.Hour)
			require.Contains(t, w.departures(t), unit, "the provider remembers it")
			vault.Units = vault.Units[:1]
			w.settle(t)
			assert.Equal(t, handlers, len(w.departures(t)) == 1)
		})
	}
}
