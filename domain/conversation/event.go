package conversation

// Kind is the kind of an event.
type Kind string

// The kinds of events, as Juju names its hooks: <endpoint>-relation-<kind>, and of no
// relation leader-elected and those of secrets.
const (
	Created  Kind = "created"
	Joined   Kind = "joined"
	Changed  Kind = "changed"
	Departed Kind = "departed"
	Broken   Kind = "broken"
	Elected  Kind = "elected"

	SecretChanged Kind = "secret-changed"
	SecretRotate  Kind = "secret-rotate"
	SecretExpired Kind = "secret-expired"
)

// Event is one announcement to a unit. After it was handled, Memory.After records it.
type Event struct {
	Kind Kind
	// Relation is the UID of the relation; empty for Elected and of secrets.
	Relation string
	// ID and Endpoint name the relation for people and tools.
	ID       int
	Endpoint string
	// Application is the other application; of a peer relation the unit's own.
	Application string
	// Unit is the other unit that joined, changed or departed; nil where the event
	// is about the application or the relation.
	Unit *Unit
	// Departing is the unit that leaves: the local unit where it or its application
	// ends, else Unit (RELATIONS.md E3).
	Departing *Unit
	// Reason is why, for Departed and Broken.
	Reason Reason
	// Final is set on a Broken after which the relation never comes back
	// (SAFETY.md E14).
	Final bool
	// Difference is the change of the bag (RELATIONS.md E10): the unit's, or without Unit the application's. A Joined
	// has none, since the Changed that follows has it; that of a whole first join has the application's.
	Difference Difference
	// Joined lists all units of a first join that is delivered as one event, in
	// order (RELATIONS.md E12); empty otherwise. Their bags are all new.
	Joined []Unit
	// Secret is the ID of the secret that the event is about, Label the unit's name for
	// it, and Revision its latest; empty for others.
	Secret, Label string
	Revision      int
}

// Difference lists the changes of a bag: keys in order, and its versions. Without a version before it is
// new, without one after it is empty.
type Difference struct {
	Added   []string `json:"added,omitempty"`
	Changed []string `json:"changed,omitempty"`
	Removed []string `json:"removed,omitempty"`
	Before  string   `json:"before,omitempty"`
	After   string   `json:"after,omitempty"`
}
