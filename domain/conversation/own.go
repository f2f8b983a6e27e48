package conversation

import (
	"slices"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
)

// Own is the part of a snapshot that one unit sees alone.
type Own struct {
	// Number is the unit's, if Known.
	Number int
	Known  bool
	// Leaving is why the unit or its application is ending; empty while it is not.
	Leaving Reason
	// Returns is set while the unit's pod ends and another one takes its place.
	Returns bool
	// Deadline is when the grace period of the unit's pod is over; zero while that does not end.
	Deadline time.Time
	// Ignored is why Orcon ignores the pod's workload; empty if it does not.
	Ignored string
	// Sides are the unit's own sides of relations. A relation in which no unit sees it yet has none.
	Sides []Side
	// Secrets that the unit reads or cares for, in any order.
	Secrets []Secret
}

// Side is a unit's own side of a relation, as far as it may read it (RELATIONS.md P).
type Side struct {
	// Relation is its UID.
	Relation string
	Bag      databag.Ref
	// ApplicationBag is its application's; zero where the unit may not read it.
	ApplicationBag databag.Ref
	// ApplicationWriter wrote that last, as far as it is known.
	ApplicationWriter Unit
}

// ShowsLeader reports whether the unit is shown what its leader may read: all of its sides have the application's databag.
func (o Own) ShowsLeader() bool {
	return !slices.ContainsFunc(o.Sides, func(s Side) bool { return s.ApplicationBag.IsZero() })
}

// Update is a later version of all that a unit knows.
type Update struct {
	// Revisions has, for each kind, the highest revision that it was made from.
	Revisions map[string]uint64
	View      View
	Own       Own
	// Reset reports that the store went back: the revisions may be lower than those of earlier updates.
	Reset bool
	// LastRelation is the highest id of a relation that the unit has received, also before a restart. An update from the
	// controller has none.
	LastRelation int
}
