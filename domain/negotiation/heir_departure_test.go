package negotiation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// A unit departs, and the controller is killed once the record of its application says so, before the Relation does. The
// departure is owed all the same, however long it is away, and also if a person replaces the Relation by another one
// meanwhile (SAFETY.md E15, TRUST.md A11).
func TestDepartureBeforeATakeover(t *testing.T) {
	for name, tc := range map[string]struct {
		away     time.Duration
		replaced bool
	}{
		"Shortly":         {away: time.Minute},
		"Long":            {away: 3 * time.Hour},
		"ReplacedShortly": {away: time.Minute, replaced: true},
		"ReplacedLong":    {away: 3 * time.Hour, replaced: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.consumes("blog", "store:pg", "")
			w.deployment("db", map[string]string{application.KeyProvides: "main:pg", "data.tengu.io/main": "host: db"})
			w.handling(application.Deployment, "blog", "blog-0")
			for _, name := range []string{"db-0", "db-1"} {
				w.handling(application.Deployment, "db", name)
			}
			w.apply("first", here("blog", "store"), here("db", "main"), "pg", 0)
			w.settle(t)
			w.later(t, time.Minute)

			delete(w.pods, "db-1")
			decisions, _ := w.negotiate(t)
			for _, d := range decisions {
				w.run([]relation.Decision{d}, all)
				if remember, is := d.(relation.Remember); is && remember.Name == "db" {
					break // killed
				}
			}
			require.NotEmpty(t, w.records["db"].State.Units[1].Gone)
			require.Empty(t, w.relations["first"].State.Departures)

			w.now = w.now.Add(tc.away)
			first := w.relations["first"]
			if tc.replaced {
				w.apply("second", here("blog", "store"), here("db", "main"), "pg", 0)
				w.remove("first", first.UID)
			}
			w.settle(t)
			require.Equal(t, first.UID, w.only(t).UID)
			assert.Contains(t, w.departures(t), "db/1")
		})
	}
}
