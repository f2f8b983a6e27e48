package relation

// Status is a relation's own, in one of Juju's words (RELATIONS.md L3).
type Status string

// The statuses of a relation.
const (
	// Joining: it is made, and not both sides are there yet.
	Joining Status = "joining"
	// Joined: both sides are there, and the requirer has had a unit.
	Joined Status = "joined"
	// Suspending: the Offer that opened it was withdrawn, and handlers have yet to handle
	// that.
	Suspending Status = "suspending"
	// Suspended: they have, or had time enough.
	Suspended Status = "suspended"
	// Broken: it has ended.
	Broken Status = "broken"
	// Failed: a person must act, or a handler fails.
	Failed Status = "error"
)
