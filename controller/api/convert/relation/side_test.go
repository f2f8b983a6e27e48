package relation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// side returns one side of a relation of the shop with the bank.
func side(role application.Role, end *relation.Teardown) relation.Side {
	return relation.Side{
		Key: relation.Key{
			Requirer: relation.End{Namespace: "shop", Application: "web", Endpoint: "store"},
			Provider: relation.End{Namespace: "bank", Application: "vault", Endpoint: "main"},
		},
		Role: role, Relation: "identity", ID: 7, Interface: "pg", Version: 2, Known: end != nil, Teardown: end,
	}
}

func TestRelationSides(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	unit := conversation.Unit{Application: "vault", Number: 1}
	ring := side(application.Peer, nil)
	ring.Provider = ring.Requirer
	for name, want := range map[string]relation.Side{
		"Requirer":  side(application.Requirer, nil),
		"Provider":  side(application.Provider, nil),
		"Peer":      ring,
		"Owed":      side(application.Provider, &relation.Teardown{Since: at, Reason: "Deleted", Debt: conversation.Debt{Owed: []conversation.Unit{unit}}}),
		"Inherited": side(application.Provider, &relation.Teardown{Since: at, Reason: "Deleted", Others: []int{0, 3}}),
		"Held":      side(application.Provider, &relation.Teardown{Since: at, Reason: "Deleted", Held: true, Debt: conversation.Debt{Owed: []conversation.Unit{unit}}}),
		"Handled":   side(application.Provider, &relation.Teardown{Since: at, Reason: "Deleted", Debt: conversation.Debt{Handled: true}}),
	} {
		t.Run(name, func(t *testing.T) {
			stored := ForRelationSide(want)
			assert.Equal(t, want.Here().Namespace, stored.Namespace)
			assert.LessOrEqual(t, len(stored.Name), 63, "SAFETY.md C3")
			got, err := ToRelationSide(stored)
			require.NoError(t, err)
			assert.Equal(t, want, got)

			moved := stored.DeepCopy()
			moved.Name = "another"
			_, err = ToRelationSide(moved)
			require.ErrorContains(t, err, "not the name")
		})
	}
}

// What units have answered since a state was decided is not taken back by writing it (TRUST.md T2).
func TestAnswersOfSidesAreKept(t *testing.T) {
	vault := func(number int) conversation.Unit { return conversation.Unit{Application: "vault", Number: number} }
	end := &relation.Teardown{Since: time.Unix(5, 0).UTC(), Reason: "Deleted", Debt: conversation.Debt{Owed: []conversation.Unit{vault(0), vault(1)}}}
	decided := side(application.Provider, end)
	stored := ForRelationSide(decided)
	require.True(t, AnswerEnd(stored, vault(1), true))
	require.False(t, AnswerEnd(stored, vault(1), true), "once")
	KeepRelationSide(stored, decided)
	got, err := ToRelationSide(stored)
	require.NoError(t, err)
	assert.Equal(t, conversation.Debt{Owed: []conversation.Unit{vault(0)}, Handled: true}, got.Teardown.Debt)
}

// A choice is read as it is written, and one that is unknown is none.
func TestChoicesOfEnds(t *testing.T) {
	stored := ForRelationSide(side(application.Provider, nil))
	for text, want := range map[string]relation.Choice{"Confirm": relation.ChoiceConfirm, "Keep": relation.ChoiceKeep, "Waive": relation.ChoiceWaive, "keep": ""} {
		stored.Annotations = map[string]string{v1alpha1.EndKey: text}
		got, err := ToRelationSide(stored)
		require.NoError(t, err)
		assert.Equal(t, want, got.Choice, text)
	}
}

// An end that was held and is taken back leaves no trace; the choice counts for that end alone. A decision that
// is older than what is stored does not hold an end again (TRUST.md T4).
func TestHeldEndIsTakenBack(t *testing.T) {
	at := time.Unix(5, 0).UTC()
	held := side(application.Provider, &relation.Teardown{Since: at, Reason: "Deleted", Held: true})
	stored := ForRelationSide(held)
	kept := held
	kept.Teardown = nil
	KeepRelationSide(stored, kept)
	require.NotNil(t, stored.State.End, "a decision without a choice takes nothing back")
	kept.Choice, stored.Annotations = relation.ChoiceKeep, map[string]string{v1alpha1.EndKey: v1alpha1.EndKeep}
	KeepRelationSide(stored, kept)
	assert.Nil(t, stored.State.End)

	again := held
	again.Teardown = &relation.Teardown{Since: at.Add(time.Hour), Reason: "Deleted"}
	KeepRelationSide(stored, again)
	assert.NotContains(t, stored.Annotations, v1alpha1.EndKey)
	KeepRelationSide(stored, held)
	assert.Empty(t, stored.State.End.State, "it has been told")
}
