package negotiation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// A relation remembers the units that departed from it, for the units that are owed their departure
// (SAFETY.md E15, P2, M7).
func TestDepartures(t *testing.T) {
	since := at().Add(-time.Minute)
	gone := application.Unit{Number: 3, Address: "10.0.0.3", Since: at().Add(-time.Hour), Gone: application.GoneScaledDown, GoneSince: since}
	handler := application.Unit{Number: 0, Address: "10.0.0.1", Since: at().Add(-time.Hour), Handles: true}
	plain := application.Unit{Number: 1, Address: "10.0.0.2", Since: at().Add(-time.Hour)}
	departure := conversation.Departure{Unit: conversation.Unit{Application: "db", Number: 3}, Reason: conversation.Reason(application.GoneScaledDown), Address: "10.0.0.3", Since: since}
	tests := map[string]struct {
		why     string
		web, db []application.Unit
		change  func(*relation.Relation)
		want    []string
		owed    []string
	}{
		"None":     {why: "all are there", web: []application.Unit{handler}, db: []application.Unit{plain}},
		"Departed": {why: "its departure is owed to handlers of the other side", web: []application.Unit{handler, plain}, db: []application.Unit{plain, gone}, want: []string{"db/3"}, owed: []string{"web/0"}},
		"NoHearer": {why: "where no unit could handle it, nothing is remembered", db: []application.Unit{gone}},
		"Suspended": {
			why: "M7: while the sides may not see each other nothing new is learnt", web: []application.Unit{handler}, db: []application.Unit{gone},
			change: func(r *relation.Relation) { r.Provider.Namespace = "office" },
		},
		"Before": {
			why: "a unit that departed before the relation was there was never in it", web: []application.Unit{handler}, db: []application.Unit{gone},
			change: func(r *relation.Relation) { r.Created = at() },
		},
		"Made": {
			why: "nor was it in a relation that this look makes", web: []application.Unit{handler}, db: []application.Unit{gone},
			change: func(r *relation.Relation) { r.Created = time.Time{} },
		},
		"BackAgain": {
			why: "a unit that is there again has not departed", web: []application.Unit{handler},
			db:     []application.Unit{{Number: 3, Address: "10.0.0.3", Since: at().Add(-time.Hour)}},
			change: func(r *relation.Relation) { r.State.Departures = []conversation.Departure{departure} },
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			f := index(relation.Snapshot{Namespace: "shop", Now: at(), Abroad: []relation.Abroad{
				{Namespace: "office", OptedIn: true, Records: []relation.Record{recordOf("db", gone)}},
			}})
			u := units{facts: f, numbered: map[string][]application.Unit{"web": tc.web, "db": tc.db}}
			r := related(func(r *relation.Relation) { r.Created = at().Add(-30 * time.Minute) })
			if tc.change != nil {
				tc.change(&r)
			}
			all, _ := u.departures(r)
			var got, owed []string
			for _, d := range all {
				got = append(got, d.Unit.String())
				for _, to := range d.Owed {
					owed = append(owed, to.String())
				}
			}
			assert.Equal(t, tc.want, got, tc.why)
			assert.Equal(t, tc.owed, owed, tc.why)
		})
	}
}
