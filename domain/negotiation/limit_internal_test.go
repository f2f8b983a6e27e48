package negotiation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// An endpoint has as many relations as its limit says, the oldest ones (RELATIONS.md M3).
func TestLimits(t *testing.T) {
	with := func(name string, created int, change func(*relation.Relation)) relation.Relation {
		return related(func(r *relation.Relation) {
			r.Provider.Application, r.Name, r.UID = name, "web-"+name, "uid-"+name
			r.Created, r.State.ID = at().Add(time.Duration(created)*time.Second), created
			if change != nil {
				change(r)
			}
		})
	}
	held := func(r *relation.Relation) { r.State.HeldSince = at() }
	deleted := func(r *relation.Relation) { r.Deleted = at() }
	tests := map[string]struct {
		why   string
		limit int
		known []relation.Relation
		full  string
		over  string
	}{
		"None":     {why: "no limit", known: []relation.Relation{with("a", 1, nil), with("b", 2, nil)}},
		"Below":    {why: "one place is left", limit: 3, known: []relation.Relation{with("a", 1, nil), with("b", 2, nil)}},
		"Reached":  {why: "the limit itself is the last that has a place", limit: 2, known: []relation.Relation{with("a", 1, nil), with("b", 2, nil)}, full: "web:store is limited to 2 relations and has a:main, b:main: raise the limit or end one of them", over: "web:store is limited to 2 relations"},
		"Single":   {why: "one is told as one", limit: 1, known: []relation.Relation{with("a", 1, nil)}, full: "web:store is limited to 1 relation and has a:main: raise the limit or end that relation", over: "limited to 1"},
		"Older":    {why: "a younger one takes no place from an older one", limit: 1, known: []relation.Relation{with("a", 9, nil)}, full: "limited to 1"},
		"Held":     {why: "a held one leaves its place to others", limit: 1, known: []relation.Relation{with("a", 1, held)}},
		"Deleted":  {why: "and so does one that ends", limit: 1, known: []relation.Relation{with("a", 1, deleted)}},
		"OwnPlace": {why: "it does not count itself", limit: 1, known: []relation.Relation{with("db", 5, nil)}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			f := index(relation.Snapshot{Namespace: "shop", Now: at(), Applications: []application.Application{{
				Name: "web", Endpoints: []application.Endpoint{{Name: "store", Role: application.Requirer, Interface: "pg", Limit: tc.limit}},
			}}})
			known := newRelations("shop", len(tc.known), nil)
			for _, r := range tc.known {
				known.add(r)
			}
			l := limits{f, &known}
			fifth := with("db", 5, nil)
			check := func(want, got string) {
				if want == "" {
					assert.Empty(t, got, tc.why)
				}
				assert.Contains(t, got, want, tc.why)
			}
			check(tc.full, l.full(fifth.Key))
			check(tc.over, l.over(fifth))
		})
	}
}
