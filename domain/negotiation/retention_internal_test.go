package negotiation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// Bags are withdrawn when nothing declares them and no relation needs them (SAFETY.md P2, M7, E13).
func TestRetain(t *testing.T) {
	departed := application.Unit{Number: 0, Gone: application.GoneScaledDown, GoneSince: at().Add(-application.Mourning)}
	recent := application.Unit{Number: 0, Gone: application.GoneScaledDown, GoneSince: at().Add(-application.Mourning + time.Minute)}
	shared := relation.Databag{Application: "db", Endpoint: "main"}
	ofUnit := relation.Databag{Application: "web", Endpoint: "store", Relation: "uid-1", Unit: "0"}
	elsewhere := relation.Databag{Application: "db", Endpoint: "main", Relation: "uid-9", Home: relation.Home{Namespace: "office", Name: "r"}}
	declaring := []application.Application{{
		Name: "db", Endpoints: []application.Endpoint{{Name: "main", Role: application.Provider, Interface: "pg"}},
		Bags: map[string]map[string]string{"main": {"host": "db"}},
	}}
	tests := map[string]struct {
		why       string
		bag       relation.Databag
		apps      []application.Application
		units     []application.Unit
		relations []relation.Relation
		restored  bool
		withdrawn bool
		wake      time.Duration
	}{
		"Declared":    {why: "its Service declares it", bag: shared, apps: declaring},
		"InUse":       {why: "a relation needs the last data", bag: shared, relations: []relation.Relation{related(nil)}},
		"Unused":      {why: "nothing does", bag: shared, withdrawn: true},
		"Restored":    {why: "T5: what declares it may follow", bag: shared, restored: true},
		"UnitThere":   {why: "its unit is there", bag: ofUnit, units: []application.Unit{{Number: 0}}, relations: []relation.Relation{related(nil)}},
		"UnitUnknown": {why: "E13: a number that was never given here is not gone", bag: ofUnit, relations: []relation.Relation{related(nil)}},
		"Departed":    {why: "its unit departed an hour ago", bag: ofUnit, units: []application.Unit{departed}, relations: []relation.Relation{related(nil)}, withdrawn: true},
		"Recent":      {why: "up to then it is kept", bag: ofUnit, units: []application.Unit{recent}, relations: []relation.Relation{related(nil)}, wake: time.Minute},
		"Owed": {
			why: "its departure is still owed", bag: ofUnit, units: []application.Unit{departed},
			relations: []relation.Relation{related(func(r *relation.Relation) {
				r.State.Departures = []conversation.Departure{{Unit: conversation.Unit{Application: "web"}, Since: at()}}
			})},
		},
		"Elsewhere": {why: "T5: its relation is not known here, and may be restored", bag: elsewhere},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			f := index(relation.Snapshot{
				Namespace: "shop", Now: at(), LastRelation: 1, Applications: tc.apps, Databags: []relation.Databag{tc.bag},
				Records: []relation.Record{recordOf("web", tc.units...), {Name: "db", Seen: !tc.restored}},
			})
			known := newRelations("shop", 1, nil)
			for _, r := range tc.relations {
				known.add(r)
			}
			u := units{facts: f, numbered: map[string][]application.Unit{"web": tc.units}, next: map[string]int{"web": len(tc.units)}}
			is := retain(u, known)
			if tc.withdrawn {
				assert.Equal(t, []relation.Databag{tc.bag}, is.withdrawn, tc.why)
			} else {
				assert.Empty(t, is.withdrawn, tc.why)
			}
			if tc.wake > 0 {
				assert.Equal(t, at().Add(tc.wake), is.wake, tc.why)
			} else {
				assert.Zero(t, is.wake, tc.why)
			}
		})
	}
}
