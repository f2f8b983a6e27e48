package v1alpha1

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// keep writes which units have handled the end, the suspension and departures. It keeps the answers of
// units that the relations API has stored since s was read.
func (r *Relation) keep(s relation.State) {
	r.Status.EndedUnits = union(s.Left, r.Status.EndedUnits)
	r.Status.SuspendedUnits = union(s.Closed, r.Status.SuspendedUnits)
	if s.SuspendedSince.IsZero() {
		r.Status.SuspendedUnits = nil
	}
	stored, err := r.Departures()
	if err != nil {
		stored = nil // it is written anew
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
	r.SetDepartures(departures)
}

// union returns the first list, followed by the elements that only the second has.
func union(first, second []string) []string {
	all := slices.Clone(first)
	for _, unit := range second {
		if !slices.Contains(all, unit) {
			all = append(all, unit)
		}
	}
	return all
}

// Departures returns the departures that the relation remembers.
func (r *Relation) Departures() ([]conversation.Departure, error) {
	var all []conversation.Departure
	for _, d := range r.Status.Departures {
		units := make([]conversation.Unit, 1+len(d.PendingUnits))
		for i, text := range append([]string{d.Unit}, d.PendingUnits...) {
			if err := units[i].UnmarshalText([]byte(text)); err != nil {
				return nil, fmt.Errorf("cannot read relation %q: departures: %w", r.Name, err)
			}
		}
		departure := conversation.Departure{
			Unit: units[0], Reason: conversation.Reason(d.Reason), Address: d.Address, Since: d.Time.UTC(),
			Handled: d.State == DepartureHandled, OverSince: toTime(d.CompletionTime),
		}
		if len(d.PendingUnits) > 0 {
			departure.Owed = units[1:]
		}
		all = append(all, departure)
	}
	return all, nil
}

// SetDepartures writes the departures that the relation remembers.
func (r *Relation) SetDepartures(all []conversation.Departure) {
	r.Status.Departures = nil
	for _, d := range all {
		departure := Departure{
			Unit: d.Unit.String(), Reason: string(d.Reason), Address: d.Address,
			Time: metav1.NewTime(d.Since), CompletionTime: fromTime(d.OverSince),
		}
		for _, u := range d.Owed {
			departure.PendingUnits = append(departure.PendingUnits, u.String())
		}
		if d.Handled {
			departure.State = DepartureHandled
		}
		r.Status.Departures = append(r.Status.Departures, departure)
	}
}
