package relation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// The shop's web is related to the bank's vault; web has no unit, vault has two, one with handlers.
func census() relation.Census {
	key := relation.Key{
		Requirer: relation.End{Namespace: "shop", Application: "web", Endpoint: "store"},
		Provider: relation.End{Namespace: "bank", Application: "vault", Endpoint: "main"},
	}
	return relation.Census{
		Relations: []relation.Relation{{Key: key, UID: "r"}},
		Sides: []relation.Side{
			{Key: key, Role: application.Requirer, Relation: "r", ID: 1, Known: true},
			{Key: key, Role: application.Provider, Relation: "r", ID: 7, Known: true},
		},
		Units: map[relation.End][]application.Unit{
			{Namespace: "bank", Application: "vault"}: {{Number: 0, Handles: true}, {Number: 1}, {Number: 2, Handles: true, Gone: "Deleted"}},
			{Namespace: "bank", Application: "old"}:   {{Number: 0, Handles: true, Gone: "Deleted"}},
			{Namespace: "bank", Application: "idle"}:  nil,
			{Namespace: "shop", Application: "batch"}: {{Number: 3}},
			{Namespace: "shop", Application: "vault"}: {{Number: 4, Handles: true}},
		},
	}
}

// What a person is shown before Orcon goes (TRUST.md T1).
func TestCensus(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		why              string
		change           func(*relation.Census)
		bare, told, owed []string
	}{
		"Living": {
			why: "web has no unit and starts one later; departed units start nothing", change: func(*relation.Census) {},
			bare: []string{"bank/vault", "shop/batch", "shop/vault", "shop/web"},
			told: []string{"bank/vault", "shop/web deaf"},
		},
		"Ending": {
			why:    "its sides hold the end, and are told already",
			change: func(c *relation.Census) { end(c, now) },
			bare:   []string{"bank/vault", "shop/batch", "shop/vault"},
			owed:   []string{"bank/vault", "shop/web deaf"},
		},
		"Unknown": {
			why: "no unit with handlers has known of it", change: func(c *relation.Census) { c.Sides[1].Known = false },
			bare: []string{"bank/vault", "shop/batch", "shop/vault", "shop/web"},
			told: []string{"shop/web deaf"},
		},
		"Lost": {
			why: "its Relation is missing and may be restored", change: func(c *relation.Census) { c.Relations = nil },
			bare: []string{"bank/vault", "shop/batch", "shop/vault"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := census()
			test.change(&c)
			var bare []string
			for _, e := range c.Bare() {
				bare = append(bare, e.Namespace+"/"+e.Application)
			}
			assert.Equal(t, test.bare, bare, test.why)
			assert.Equal(t, test.told, named(c, c.Told()), test.why)
			assert.Equal(t, test.owed, named(c, c.Owed()), test.why)
		})
	}
}

// end writes the end of all relations into their sides.
func end(c *relation.Census, now time.Time) {
	for i := range c.Relations {
		c.Relations[i].State.EndReason = relation.EndDeleted
		for _, ended := range c.End(c.Relations[i], now) {
			for j := range c.Sides {
				if c.Sides[j].Role == ended.Role {
					c.Sides[j] = ended
				}
			}
		}
	}
}

func named(c relation.Census, all []relation.Side) []string {
	var names []string
	for _, s := range all {
		name := s.Here().Namespace + "/" + s.Here().Application
		if c.Deaf(s) {
			name += " deaf"
		}
		names = append(names, name)
	}
	return names
}

// A side that ends owes the end to the units that are there, or to a leader that comes; only one that nobody knew of
// owes nothing. It is noted once.
func TestEndIsOwed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := census()
		c.Sides[1].Known = rapid.Bool().Draw(t, "known")
		var units []application.Unit
		for i := range rapid.IntRange(0, 2*relation.MostOwed).Draw(t, "units") {
			units = append(units, application.Unit{Number: i, Handles: rapid.Bool().Draw(t, "handles")})
		}
		c.Units[relation.End{Namespace: "bank", Application: "vault"}] = units
		ended := c.End(c.Relations[0], time.Unix(9, 0))
		if len(ended) != 2 {
			t.Fatalf("%d sides take note", len(ended))
		}
		side := ended[1]
		if side.Owes() != c.Sides[1].Known {
			t.Fatalf("known %t, and owes %t", c.Sides[1].Known, side.Owes())
		}
		if len(side.Teardown.Owed) > relation.MostOwed {
			t.Fatalf("owed to %d units", len(side.Teardown.Owed))
		}
		for _, unit := range side.Teardown.Owed {
			if unit.Application != "vault" || !units[unit.Number].Handles {
				t.Fatalf("owed to %v", unit)
			}
		}
		if side.Owes() && side.Teardown.Inherited() != (len(relation.Hearers(side.Here(), units)) == 0) {
			t.Fatal("a leader inherits it if no unit could handle it")
		}
		c.Sides = ended
		if again := c.End(c.Relations[0], time.Unix(10, 0)); len(again) != 0 {
			t.Fatalf("noted again: %v", again)
		}
	})
}

// Peers have no broken that a leader could handle.
func TestEndOfPeers(t *testing.T) {
	peer := relation.Side{Role: application.Peer, Known: true}.Ended(relation.Relation{}, time.Unix(9, 0), relation.EndDeleted, func(relation.End) []application.Unit {
		return []application.Unit{{Handles: true}}
	})
	assert.Equal(t, []conversation.Unit{{}}, peer.Teardown.Owed)
	assert.True(t, peer.Teardown.Handled)
}
