package conversation

// Own is the part of a snapshot that one unit sees alone.
type Own struct {
	// Number is the unit's, if Known.
	Number int
	Known  bool
	// Leaving is why the unit or its application is ending; empty while it is not.
	Leaving Reason
	// Ignored is why the pod's workload takes part in nothing; empty if it takes part.
	Ignored string
	// Sides are the unit's own sides of relations. A relation in which no unit sees it yet has none.
	Sides []Side
	// Secrets that the unit reads or cares for, in any order.
	Secrets []Secret
}

// Side is what a unit may read of its own side of a relation (RELATIONS.md P).
type Side struct {
	// Relation is its UID.
	Relation string
	Bag      Bag
	// ApplicationBag is its application's; nil where the unit may not read it.
	ApplicationBag Bag
	// ApplicationWriter wrote that last, as far as it is known.
	ApplicationWriter Unit
}

// Update is a later version of what a unit knows.
type Update struct {
	// Revisions has, for each kind, the highest revision that it was made from.
	Revisions map[string]uint64
	View      View
	Own       Own
}
