package negotiation

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// Decisions are made for what differs from what is stored, and for nothing else.
func TestDifference(t *testing.T) {
	stored := related(nil)
	ended := related(func(r *relation.Relation) { r.State.EndReason = relation.EndDeleted })
	deleted := related(func(r *relation.Relation) { r.Deleted = at() })
	web := relation.Record{Name: "web", UID: "uid-web", Seen: true}
	changed := web
	changed.State.NextUnit = 3
	bag := relation.Databag{Application: "db", Endpoint: "main", Data: map[string]string{"host": "db"}}
	declares := []application.Application{{
		Name: "db", Endpoints: []application.Endpoint{{Name: "main", Role: application.Provider}},
		Bags: map[string]map[string]string{"main": {"host": "db"}},
	}}
	side := relation.Side{Key: stored.Key, Role: application.Provider, Relation: "uid-1", ID: 1}
	tests := map[string]struct {
		why      string
		s        relation.Snapshot
		relation *relation.Relation
		released bool
		records  []relation.Record
		sides    []relation.Side
		lastID   int
		want     []relation.Decision
	}{
		"Equal":     {why: "all is stored", s: relation.Snapshot{Relations: []relation.Relation{stored}}, relation: &stored, lastID: 1},
		"State":     {why: "an end is stored, and then carried out", s: relation.Snapshot{Relations: []relation.Relation{stored}}, relation: &ended, lastID: 1, want: []relation.Decision{relation.Update{Relation: ended}, relation.Finish{Relation: ended}}},
		"Released":  {why: "a dead relation is let go and not written again", s: relation.Snapshot{Relations: []relation.Relation{deleted}}, relation: &deleted, released: true, lastID: 1, want: []relation.Decision{relation.Release{Relation: deleted}}},
		"Count":     {why: "T5: the highest id is stored before it is given", lastID: 2, want: []relation.Decision{relation.Count{LastRelation: 2}}},
		"Published": {why: "the stored bag is the declared one", s: relation.Snapshot{Applications: declares, Databags: []relation.Databag{bag}}, lastID: 1},
		"Publish":   {why: "it is not stored yet", s: relation.Snapshot{Applications: declares}, lastID: 1, want: []relation.Decision{relation.Publish{Databag: bag}}},
		"Deliver":   {why: "E11: a replica has left it half done", s: relation.Snapshot{Outboxes: []relation.Outbox{{Application: "db", Unit: "1", Holds: true}, {Application: "db", Unit: "2"}}}, lastID: 1, want: []relation.Decision{relation.Deliver{Outbox: relation.Outbox{Application: "db", Unit: "1", Holds: true}}}},
		"Known":     {why: "the record is stored", s: relation.Snapshot{Records: []relation.Record{web}}, records: []relation.Record{web}, lastID: 1},
		"Remember":  {why: "it is another one", s: relation.Snapshot{Records: []relation.Record{web}}, records: []relation.Record{changed}, lastID: 1, want: []relation.Decision{relation.Remember{Record: changed}}},
		"Forget":    {why: "nothing is remembered of it", s: relation.Snapshot{Records: []relation.Record{web}}, lastID: 1, want: []relation.Decision{relation.Forget{Record: web}}},
		"Unseen":    {why: "T5: a restored record that was not looked at stays", s: relation.Snapshot{Records: []relation.Record{{Name: "web"}}}, lastID: 1},
		"Side":      {why: "T0: a side is stored before it hears", sides: []relation.Side{side}, lastID: 1, want: []relation.Decision{relation.Keep{Side: side}}},
		"SameSide":  {why: "it is stored", s: relation.Snapshot{Sides: []relation.Side{side}}, sides: []relation.Side{side}, lastID: 1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tc.s.Namespace, tc.s.Now, tc.s.LastRelation = "shop", at(), 1
			f := index(tc.s)
			before, after := newRelations("shop", 1, nil), newRelations("shop", 1, nil)
			for _, r := range tc.s.Relations {
				before.add(r)
				after.add(*tc.relation)
			}
			found := settlement{shelves: shelves{f.Namespace, f.Databags, f.sides}}
			found.matching.relations, found.judged.relations, found.lives.lastID = before, after, tc.lastID
			found.lives.relations = after
			if tc.released {
				found.lives.released = map[int]relation.Relation{0: *tc.relation}
			}
			for _, r := range tc.records {
				found.recorded.entries = append(found.recorded.entries, entry{record: r})
			}
			found.upkeep.all = tc.sides
			assert.Equal(t, tc.want, difference(f, found), tc.why)
		})
	}
}
