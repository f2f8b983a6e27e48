package secret_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// What ended by itself is let go, and nothing that is merely not known (SAFETY.md
// E13, E14, TRUST.md T5).
func TestSweep(t *testing.T) {
	old := secret.Place{Shard: 2, Key: "a"}
	revision := func(at secret.Place) []secret.Revision {
		return []secret.Revision{{Number: 1, Place: at, Created: epoch()}}
	}
	app := secret.Secret{ID: "app", Owner: secret.Owner{Application: "db"}, Revisions: revision(old)}
	unit := secret.Secret{ID: "unit", Owner: secret.Owner{Application: "db", Unit: "1"}, Revisions: revision(at(1))}
	granted := app
	granted.Access = []secret.Access{
		{Relation: "r", Application: "web"}, {Relation: "s", Application: "web", Unit: "1"}, {Relation: "s", Application: "web"},
	}
	granted.Readers = []secret.Reader{
		{Application: "web", Unit: "0", Revision: 1, Since: epoch()}, {Application: "web", Unit: "7", Revision: 1, Since: epoch()},
	}
	marked := []secret.Mark{{Place: old, Since: epoch()}}
	day, restored := epoch().Add(24*time.Hour), epoch().Add(time.Second)
	none := secret.Secret{ID: "none", Owner: secret.Owner{Application: "db"}}
	removed := secret.Secret{ID: "removed", Owner: secret.Owner{Application: "db"}, Removed: epoch()}
	noneOfUnit := secret.Secret{ID: "none", Owner: secret.Owner{Application: "db", Unit: "1"}}
	owns := func(roll secret.Roll) secret.Snapshot {
		return secret.Snapshot{Secrets: []secret.Secret{unit}, Units: map[string]secret.Roll{"db": roll}}
	}
	reads := func(roll secret.Roll) secret.Snapshot {
		return secret.Snapshot{Secrets: []secret.Secret{granted}, Relations: []string{"r", "s"}, Units: map[string]secret.Roll{"web": roll}}
	}
	tests := map[string]struct {
		why  string
		s    secret.Snapshot
		want []secret.Decision
	}{
		"Settled": {why: "what is named stays", s: secret.Snapshot{Secrets: []secret.Secret{app}}},
		"Orphan":  {why: "unmarked content is not even looked at: its secret may be restored later"},
		"Written": {
			why: "a transaction that never was left it", s: secret.Snapshot{Marks: marked},
			want: []secret.Decision{secret.Discard{Places: []secret.Place{old}}},
		},
		"Named": {
			why: "its transaction was committed, or its secret was restored", s: secret.Snapshot{Secrets: []secret.Secret{app}, Marks: marked},
			want: []secret.Decision{secret.Unmark{Places: []secret.Place{old}}},
		},
		"Tombstone": {
			why: "a process may be late still", s: secret.Snapshot{Now: epoch().Add(10 * time.Minute), Secrets: []secret.Secret{removed}},
		},
		"OldTombstone": {
			why: "no process can be late any more", s: secret.Snapshot{Now: epoch().Add(11 * time.Minute), Secrets: []secret.Secret{removed}},
			want: []secret.Decision{secret.Drop{ID: "removed"}},
		},
		"Busy":       {why: "what is on its way may name it", s: secret.Snapshot{Marks: marked, Busy: true}},
		"Young":      {why: "its transaction may be about to commit, or a restore goes on", s: secret.Snapshot{Now: day, Marks: marked}},
		"YoungNamed": {why: "its secret may be about to let go of it", s: secret.Snapshot{Now: day, Secrets: []secret.Secret{app}, Marks: marked}},
		"NoDeclarer": {
			why: "an application's secret outlives its declaration",
			s:   secret.Snapshot{Secrets: []secret.Secret{app}, Units: map[string]secret.Roll{"db": {Next: 5}}},
		},
		"UnitHere":    {why: "its owner lives", s: owns(secret.Roll{Here: []string{"1"}, Next: 2})},
		"UnitGone":    {why: "its bags are kept too (RELATIONS.md P2)", s: owns(secret.Roll{Gone: []string{"1"}, Next: 2})},
		"UnitUnknown": {why: "nothing is known of its application", s: secret.Snapshot{Secrets: []secret.Secret{unit}}},
		"UnitNew":     {why: "a number that was never given here", s: owns(secret.Roll{Next: 1})},
		"UnitForgotten": {
			why: "nothing of it is kept any more", s: owns(secret.Roll{Next: 2, Since: epoch()}),
			want: []secret.Decision{secret.End{ID: "unit"}},
		},
		"UnitOfRecordBefore": {why: "the record was restored, and does not know of it", s: owns(secret.Roll{Next: 2, Since: restored})},
		"Stateless":          {why: "of a secret that was restored without state nothing is known", s: secret.Snapshot{Secrets: []secret.Secret{none}}},
		"StatelessOfUnit": {
			why: "nor whether its unit was there in the time of the record",
			s:   secret.Snapshot{Secrets: []secret.Secret{noneOfUnit}, Units: map[string]secret.Roll{"db": {Next: 2}}},
		},
		"LetGo": {
			why: "relation s is over, web/0 has gone, and of web/7 nothing is known",
			s: secret.Snapshot{
				Secrets: []secret.Secret{granted}, Relations: []string{"r"}, Units: map[string]secret.Roll{"web": {Gone: []string{"0"}, Next: 2}},
			},
			want: []secret.Decision{secret.LetGo{ID: "app", Relations: []string{"s"}, Readers: granted.Readers[:1]}},
		},
		"ReaderForgotten": {
			why: "the record gave it its number, and lists it no more", s: reads(secret.Roll{Here: []string{"7"}, Next: 8, Since: epoch()}),
			want: []secret.Decision{secret.LetGo{ID: "app", Readers: granted.Readers[:1]}},
		},
		"ReaderGone": {
			why: "a restored record lists it as departed", s: reads(secret.Roll{Gone: []string{"0"}, Next: 8, Since: restored}),
			want: []secret.Decision{secret.LetGo{ID: "app", Readers: granted.Readers[:1]}},
		},
		"ReaderOfRecordBefore": {why: "the record was restored, and its next number was raised", s: reads(secret.Roll{Next: 8, Since: restored})},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.s.Now.IsZero() {
				test.s.Now = epoch().Add(25 * time.Hour)
			}
			decisions := secret.Sweep(test.s)
			assert.Equal(t, test.want, decisions, test.why)
			for _, d := range decisions {
				if let, is := d.(secret.LetGo); is {
					test.s.Secrets = []secret.Secret{let.Of(granted)}
					assert.Empty(t, secret.Sweep(test.s), "twice is once")
				}
			}
		})
	}
}
