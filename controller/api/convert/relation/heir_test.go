package relation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
)

// heirs returns a Relation, open by an Offer and held since nothing declares it, and a person's of the same pair.
func heirs() (first, second *v1alpha1.Relation) {
	pair := relation.Pair{Key: relation.Key{
		Requirer: relation.End{Namespace: "office", Application: "blog", Endpoint: "store"},
		Provider: relation.End{Namespace: "bank", Application: "db", Endpoint: "main"}}, Interface: "pg"}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	first = convert.ForPair("office", pair)
	first.UID, first.CreationTimestamp = "object-1", metav1.NewTime(now)
	s := relation.State{ID: 1, Retain: time.Hour, HeldSince: now, HeldReason: relation.ReasonDeclarationGone, Data: relation.DataComplete,
		Offer: "db", ProviderUID: "uid-bank", Status: relation.Joined}
	convert.KeepRelation(first, "identity", s)
	convert.SetRelation(first, s, now)
	*convert.Side(first, application.Provider) = convert.ForSide(status.Info{State: status.Blocked, Message: "the disk is full", Since: now}, 3)

	second = convert.ForPair("office", pair)
	second.Name, second.UID, second.Spec.Origin, second.CreationTimestamp = "second", "object-2", "", metav1.NewTime(now)
	return first, second
}

// The provider's unit hears nothing of a take-over, also between its two writes: the status comes first, and a Relation
// without an id is not current (TRUST.md A11).
func TestHeirIsNotHeard(t *testing.T) {
	one, two := heirs()
	first, second := read(t, one), read(t, two)
	side := relation.Side{Key: first.Key, Role: application.Provider, Relation: "identity", ID: 7, Interface: "pg", Known: true}
	units := []application.Unit{{Number: 0, Handles: true, Address: "10.0.0.1"}}
	record := relation.Record{Name: "db", State: relation.ApplicationState{Units: units}}
	shelf := relation.Shelf{
		Bag:    func(relation.Relation, relation.End) map[string]string { return nil },
		Said:   func(relation.Relation, relation.End, int) map[string]string { return nil },
		Writer: func(relation.Relation, relation.End) string { return "" },
		Units:  func(relation.End) []application.Unit { return units },
		Grants: func(relation.End) []relation.Grant { return nil },
	}
	var memory conversation.Memory
	hear := func(all ...relation.Relation) (events []string) {
		current, _ := relation.Current(all)
		s := relation.Look("bank", record, current, []relation.Side{side}, shelf).Heard(0)
		s.Unit = conversation.Unit{Application: "db"}
		memory = memory.Observe(s)
		for {
			e, owed := conversation.Next(memory, s)
			if !owed {
				return events
			}
			memory = memory.After(e, s)
			events = append(events, string(e.Kind))
		}
	}
	require.NotEmpty(t, hear(first, second))
	require.Empty(t, hear(first, second))

	is := second.Inherits(first).State
	convert.SetRelation(two, is, time.Now())
	assert.Empty(t, hear(first, read(t, two)), "after the first write")
	convert.KeepRelation(two, first.UID, is)
	assert.Empty(t, hear(first, read(t, two)), "after the second write")
	assert.Empty(t, hear(read(t, two)), "after the end of the first object")
}

// What the sides have said of a relation stays when another Relation takes it over.
func TestHeirKeepsWhatSidesSaid(t *testing.T) {
	one, two := heirs()
	first := read(t, one)
	is := read(t, two).Inherits(first).State
	convert.SetRelation(two, is, time.Now())
	convert.KeepRelation(two, first.UID, is)
	assert.Equal(t, "the disk is full", read(t, two).State.ProviderStatus.Message)
	assert.Equal(t, first.State.ProviderStatus, read(t, two).State.ProviderStatus)
	assert.Nil(t, two.Status.RequirerStatus)
}

func read(t *testing.T, o *v1alpha1.Relation) relation.Relation {
	t.Helper()
	d, err := convert.ToRelation(o)
	require.NoError(t, err)
	return d
}
