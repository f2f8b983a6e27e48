package relation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// What units have said since a state was decided is not taken back by writing it
// (SAFETY.md E15, RELATIONS.md L4).
func TestAnswersAreKept(t *testing.T) {
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	unit := func(number int) conversation.Unit { return conversation.Unit{Application: "web", Number: number} }
	departure := conversation.Departure{Unit: conversation.Unit{Application: "db", Number: 1}, Reason: "replaced", Since: since, Debt: conversation.Debt{Owed: []conversation.Unit{unit(0), unit(1)}}}
	var r v1alpha1.Relation
	decided := relation.State{SuspendedSince: time.Unix(5, 0).UTC(), Closed: []string{"web/0"}, Departures: []conversation.Departure{departure}}
	SetRelation(&r, decided, since)

	answered := departure.Answered(unit(1), conversation.Answer{Unit: departure.Unit, Since: since, Handled: true})
	SetDepartures(&r, []conversation.Departure{answered})
	r.Status.SuspendedUnits = append(r.Status.SuspendedUnits, "web/1")
	SetRelation(&r, decided, since.Add(time.Minute))
	got, err := ToDepartures(&r)
	require.NoError(t, err)
	assert.Equal(t, []conversation.Departure{answered}, got)
	assert.Equal(t, []string{"web/0", "web/1"}, r.Status.SuspendedUnits)

	t.Log("another departure of the same unit is another")
	again := departure
	again.Since = since.Add(time.Hour)
	SetRelation(&r, relation.State{Departures: []conversation.Departure{again}}, since)
	got, err = ToDepartures(&r)
	require.NoError(t, err)
	assert.Equal(t, []conversation.Departure{again}, got)
}
