package conversation

// View holds what all units of an application see of its relations.
type View struct {
	Application, Namespace string
	// Relations of the application, without what one unit sees alone.
	Relations []Relation
	// Bags has the contents of the bags of Relations and of the units' own sides.
	Bags Bags
	// Waiting lists the endpoints without a relation.
	Waiting []Waiting
}

// Waiting is an endpoint without a relation.
type Waiting struct {
	Endpoint string
	// Reason is a condition's reason, Message a sentence that a person can act on.
	Reason, Message string
}

// End is one end of a relation.
type End struct {
	Namespace   string
	Application string
	Endpoint    string
}

// String returns application:endpoint.
func (e End) String() string { return e.Application + ":" + e.Endpoint }

// From returns the name of the end's application as a namespace knows it: with its
// own namespace where that is another.
func (e End) From(namespace string) string {
	if e.Namespace == namespace {
		return e.Application
	}
	return e.Application + "." + e.Namespace
}

// Written returns the end as a namespace writes it: application.namespace:endpoint of
// another.
func (e End) Written(namespace string) string { return e.From(namespace) + ":" + e.Endpoint }

// For returns what one unit of the application knows, without its leadership, which its own lease
// tells.
func (v View) For(own Own) Snapshot {
	s := Snapshot{
		Unit: Unit{v.Application, own.Number}, Leaving: own.Leaving, Returns: own.Returns, Deadline: own.Deadline,
		Secrets: own.Secrets, Bags: v.Bags,
	}
	sides := make(map[string]Side, len(own.Sides))
	for _, side := range own.Sides {
		sides[side.Relation] = side
	}
	for _, r := range v.Relations {
		side, seen := sides[r.UID]
		r.Unseen, r.OwnBag, r.OwnApplicationBag, r.OwnApplicationWriter = !seen, side.Bag, side.ApplicationBag, side.ApplicationWriter
		r.Units = others(r.Units, s.Unit)
		s.Relations = append(s.Relations, r)
	}
	return s
}

// others returns the members but for one unit.
func others(all []Member, but Unit) []Member {
	var kept []Member
	for _, m := range all {
		if m.Unit != but {
			kept = append(kept, m)
		}
	}
	return kept
}
