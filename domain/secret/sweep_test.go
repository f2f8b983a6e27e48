package secret_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// What ended by itself is let go, and nothing that is merely not known (SAFETY.md
// E13, E14).
func TestSweep(t *testing.T) {
	old := secret.Place{Shard: 2, Key: secret.NewKey(epoch(), "a")}
	app := secret.Secret{ID: "app", Owner: secret.Owner{Application: "db"}, Revisions: []secret.Revision{{Number: 1, Place: old}}}
	unit := secret.Secret{ID: "unit", Owner: secret.Owner{Application: "db", Unit: "1"}, Revisions: []secret.Revision{{Number: 1, Place: at(1)}}}
	granted := app
	granted.Access = []secret.Access{{Relation: "r", Application: "web"}, {Relation: "s", Application: "web", Unit: "1"}, {Relation: "s", Application: "web"}}
	granted.Readers = []secret.Reader{{Application: "web", Unit: "0", Revision: 1}, {Application: "web", Unit: "7", Revision: 1}}
	tests := map[string]struct {
		why  string
		s    secret.Snapshot
		want []secret.Decision
	}{
		"Settled":     {why: "what is named stays", s: secret.Snapshot{Secrets: []secret.Secret{app}, Kept: []secret.Place{old}}},
		"Orphan":      {why: "a transaction that never was left it", s: secret.Snapshot{Kept: []secret.Place{old}}, want: []secret.Decision{secret.Discard{Places: []secret.Place{old}}}},
		"Busy":        {why: "what is on its way may name it", s: secret.Snapshot{Kept: []secret.Place{old}, Busy: true}},
		"Young":       {why: "its transaction may be about to commit", s: secret.Snapshot{Now: epoch().Add(time.Minute), Kept: []secret.Place{old}}},
		"NotOurs":     {why: "what does not tell its age was put there by somebody", s: secret.Snapshot{Kept: []secret.Place{{Key: "tls.crt"}}}},
		"NoDeclarer":  {why: "an application's secret outlives its declaration", s: secret.Snapshot{Secrets: []secret.Secret{app}, Units: map[string]secret.Roll{"db": {Next: 5}}}},
		"UnitHere":    {why: "its owner lives", s: secret.Snapshot{Secrets: []secret.Secret{unit}, Units: map[string]secret.Roll{"db": {Here: []string{"1"}, Next: 2}}}},
		"UnitGone":    {why: "its bags are kept too (RELATIONS.md P2)", s: secret.Snapshot{Secrets: []secret.Secret{unit}, Units: map[string]secret.Roll{"db": {Gone: []string{"1"}, Next: 2}}}},
		"UnitUnknown": {why: "nothing is known of its application", s: secret.Snapshot{Secrets: []secret.Secret{unit}}},
		"UnitNew":     {why: "a number that was never given here", s: secret.Snapshot{Secrets: []secret.Secret{unit}, Units: map[string]secret.Roll{"db": {Next: 1}}}},
		"UnitForgotten": {
			why:  "nothing of it is kept any more",
			s:    secret.Snapshot{Secrets: []secret.Secret{unit}, Units: map[string]secret.Roll{"db": {Next: 2}}},
			want: []secret.Decision{secret.End{ID: "unit"}},
		},
		"Unfinished": {
			why:  "who made it died before it had content",
			s:    secret.Snapshot{Secrets: []secret.Secret{{ID: "none", Owner: secret.Owner{Application: "db"}}}},
			want: []secret.Decision{secret.End{ID: "none"}},
		},
		"LetGo": {
			why:  "relation s is over, web/0 has gone, and of web/7 nothing is known",
			s:    secret.Snapshot{Secrets: []secret.Secret{granted}, Relations: []string{"r"}, Units: map[string]secret.Roll{"web": {Gone: []string{"0"}, Next: 2}}},
			want: []secret.Decision{secret.LetGo{ID: "app", Relations: []string{"s"}, Readers: granted.Readers[:1]}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.s.Now.IsZero() {
				test.s.Now = epoch().Add(2 * time.Hour)
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
