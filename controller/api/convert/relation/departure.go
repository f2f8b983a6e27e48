package relation

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/value"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// keepAnswers writes the units that have handled a suspension and the departures. An answer that the relations API has
// stored since s was decided stays.
func keepAnswers(r *v1alpha1.Relation, s relation.State) {
	r.Status.SuspendedUnits = union(s.Closed, r.Status.SuspendedUnits)
	if s.SuspendedSince.IsZero() {
		r.Status.SuspendedUnits = nil
	}
	stored, err := ToDepartures(r)
	if err != nil {
		stored = nil // written anew
	}
	departures := slices.Clone(s.Departures)
	for i, d := range departures {
		for _, was := range stored {
			if was.Unit == d.Unit && was.Since.Equal(d.Since) {
				departures[i] = d.Without(func(u conversation.Unit) bool { return !slices.Contains(was.Owed, u) })
				departures[i].Handled = d.Handled || was.Handled
			}
		}
	}
	SetDepartures(r, departures)
}

// union returns first, and then what only second has.
func union(first, second []string) []string {
	all := slices.Clone(first)
	for _, unit := range second {
		if !slices.Contains(all, unit) {
			all = append(all, unit)
		}
	}
	return all
}

// ToDepartures returns the departures that a Relation remembers.
func ToDepartures(r *v1alpha1.Relation) ([]conversation.Departure, error) {
	var all []conversation.Departure
	for _, d := range r.Status.Departures {
		units, err := toUnits(append([]string{d.Unit}, d.PendingUnits...))
		if err != nil {
			return nil, fmt.Errorf("cannot read relation %q: departures: %w", r.Name, err)
		}
		departure := conversation.Departure{
			Unit: units[0], Reason: conversation.Reason(d.Reason), Address: d.Address, Since: d.Time.UTC(),
			Debt: conversation.Debt{Handled: d.State == v1alpha1.DepartureHandled}, OverSince: value.Time(d.CompletionTime),
		}
		if len(d.PendingUnits) > 0 {
			departure.Owed = units[1:]
		}
		all = append(all, departure)
	}
	return all, nil
}

// SetDepartures writes the departures that a Relation remembers.
func SetDepartures(r *v1alpha1.Relation, all []conversation.Departure) {
	r.Status.Departures = nil
	for _, d := range all {
		departure := v1alpha1.Departure{
			Unit: d.Unit.String(), Reason: string(d.Reason), Address: d.Address,
			Time: metav1.NewTime(d.Since), CompletionTime: value.FromTime(d.OverSince), PendingUnits: fromUnits(d.Owed),
		}
		if d.Handled {
			departure.State = v1alpha1.DepartureHandled
		}
		r.Status.Departures = append(r.Status.Departures, departure)
	}
}

// toUnits returns units that are stored as application/number; nil for none.
func toUnits(texts []string) ([]conversation.Unit, error) {
	var all []conversation.Unit
	for _, text := range texts {
		var unit conversation.Unit
		if err := unit.UnmarshalText([]byte(text)); err != nil {
			return nil, err
		}
		all = append(all, unit)
	}
	return all, nil
}

// fromUnits returns units as they are stored; nil for none.
func fromUnits(units []conversation.Unit) []string {
	var all []string
	for _, unit := range units {
		all = append(all, unit.String())
	}
	return all
}
