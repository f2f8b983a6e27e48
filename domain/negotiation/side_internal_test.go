package negotiation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// Each end with handlers has a side, which owes the end of its relation until it is handled, or a person waives it
// (TRUST.md T0, T2, T4, RELATIONS.md L4).
func TestKeep(t *testing.T) {
	handles, plain := application.Unit{Number: 0, Handles: true}, application.Unit{Number: 0}
	departed := application.Unit{Number: 0, Handles: true, Gone: application.GoneScaledDown, GoneSince: at()}
	key := related(nil).Key
	side := relation.Side{Key: key, Role: application.Provider, Relation: "uid-1", ID: 1, Interface: "pg", Known: true}
	ends := func(s relation.Side, ago time.Duration, debt conversation.Debt) relation.Side {
		s.Teardown = &relation.Teardown{Since: at().Add(-ago), Reason: "Deleted", Debt: debt}
		return s
	}
	chosen := func(s relation.Side, c relation.Choice) relation.Side {
		s.Choice = c
		return s
	}
	requirers := func(s relation.Side) relation.Side {
		s.Role = application.Requirer
		return s
	}
	owed := conversation.Debt{Owed: []conversation.Unit{{Application: "db"}}}
	held := ends(side, time.Minute, owed)
	held.Teardown.Held = true
	tests := map[string]struct {
		why     string
		units   []application.Unit
		side    *relation.Side
		exists  bool
		want    *relation.Side
		dropped bool
	}{
		"New":         {why: "a unit with handlers is about to hear of it", units: []application.Unit{handles}, exists: true, want: &side},
		"NoHandlers":  {why: "files need no side", units: []application.Unit{plain}, exists: true},
		"Kept":        {why: "its relation lives", units: []application.Unit{handles}, side: &side, exists: true, want: &side},
		"Lost":        {why: "T5, T7: its relation may be restored", units: []application.Unit{handles}, side: &side, want: &side},
		"Owed":        {why: "T2: a provider's end is owed without a limit", units: []application.Unit{handles}, side: new(ends(side, 99*time.Hour, owed)), want: new(ends(side, 99*time.Hour, owed))},
		"Inherited":   {why: "T2: the unit has gone, and the next one inherits the end", units: []application.Unit{departed}, side: new(ends(side, time.Hour, owed)), want: new(ends(side, time.Hour, conversation.Debt{}))},
		"Handled":     {why: "it is paid", side: new(ends(side, time.Minute, conversation.Debt{Handled: true})), dropped: true},
		"Requirer":    {why: "L4: a requirer has ten minutes", side: new(requirers(ends(side, 9*time.Minute, conversation.Debt{}))), want: new(requirers(ends(side, 9*time.Minute, conversation.Debt{})))},
		"RequirerEnd": {why: "L4: and no more", side: new(requirers(ends(side, 10*time.Minute, conversation.Debt{}))), dropped: true},
		"Waived":      {why: "a person has waived it", side: new(chosen(ends(side, time.Hour, owed), relation.ChoiceWaive)), dropped: true},
		"TakenBack":   {why: "T4: a person keeps the relation", side: new(chosen(held, relation.ChoiceKeep)), want: new(chosen(side, relation.ChoiceKeep))},

		"RestoredOwed":      {why: "T5: the end of a relation that was restored runs its course", units: []application.Unit{handles}, side: new(ends(side, time.Hour, owed)), exists: true, want: new(ends(side, time.Hour, owed))},
		"RestoredHandled":   {why: "T5: then the side is made anew", side: new(ends(side, time.Minute, conversation.Debt{Handled: true})), exists: true, dropped: true},
		"RestoredTakenBack": {why: "T4, T5: a person keeps it", side: new(chosen(held, relation.ChoiceKeep)), exists: true, want: new(chosen(side, relation.ChoiceKeep))},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := relation.Snapshot{Namespace: "shop", Now: at(), LastRelation: 1}
			if tc.side != nil {
				s.Sides = []relation.Side{*tc.side}
			}
			u := units{facts: index(s), numbered: map[string][]application.Unit{"db": tc.units}, next: map[string]int{"db": 1}}
			settled := newRelations("shop", 1, nil)
			if tc.exists {
				settled.add(related(nil))
			}
			is := keep(u, lives{lastID: 1}, settled)
			if tc.want != nil {
				assert.Equal(t, []relation.Side{*tc.want}, is.all, tc.why)
			} else {
				assert.Empty(t, is.all, tc.why)
			}
			assert.Equal(t, tc.dropped, len(is.dropped) == 1, tc.why)
		})
	}
}
