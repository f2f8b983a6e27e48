package relation

import (
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// View is what one application may see of its relations.
type View struct {
	Application string
	Units       []application.Unit
	// Relations in order of id.
	Relations []Seen
	// Waiting lists the endpoints that have no complete relation.
	Waiting []Waiting
}

// Seen is one relation as one side sees it.
type Seen struct {
	Relation
	// Bag is the other application's.
	Bag map[string]string
	// Complete says that the data a start gate waits for is there: both
	// applications are, and the bag is not empty (SAFETY.md V5).
	Complete bool
	// Reason and Message say why it is not.
	Reason  string
	Message string
}

// Look returns what a requirer may see: its relations that have an id, each with
// the provider's bag; of its peers it has nothing to wait for. bag returns nil for one that is not known.
func Look(record Record, relations []Relation, bag func(End) map[string]string) View {
	v := View{Application: record.Name, Units: record.State.Units, Waiting: record.State.Waiting}
	for _, r := range relations {
		if r.State.ID == 0 || r.Peer() {
			continue
		}
		ready, _ := condition.Find(r.State.Conditions, condition.Ready)
		seen := Seen{Relation: r, Bag: bag(r.Provider), Reason: ready.Reason, Message: ready.Message}
		seen.Complete = ready.True && len(seen.Bag) > 0
		v.Relations = append(v.Relations, seen)
	}
	slices.SortFunc(v.Relations, func(a, b Seen) int { return byAge(a.Relation, b.Relation) })
	return v
}
