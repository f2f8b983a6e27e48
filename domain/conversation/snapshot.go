package conversation

// Bag is a databag: keys to values.
type Bag = map[string]string

// Role is a unit's part in a relation.
type Role string

// The roles.
const (
	Provider Role = "provides"
	Requirer Role = "requires"
	Peer     Role = "peers"
)

// Life is where a relation is between its beginning and its end.
type Life string

// The lives of a relation. A suspended one may come back; an ended one never
// does (RELATIONS.md L1).
const (
	Alive     Life = "alive"
	Suspended Life = "suspended"
	Ending    Life = "ending"
)

// Reason is why a unit has departed or a relation has ended (RELATIONS.md E3).
type Reason string

// The reasons of a departure.
const (
	ScaledDown         Reason = "scaled-down"
	Replaced           Reason = "replaced"
	ApplicationRemoved Reason = "application-removed"
	RelationRemoved    Reason = "relation-removed"
	SuspendedReason    Reason = "suspended"
)

// Snapshot is all that a unit may know now. What is absent is unknown, never
// ended (SAFETY.md E13).
type Snapshot struct {
	// Unit is the one that hears.
	Unit Unit
	// Leader tells that it may write its application's bags.
	Leader bool
	// Leaving is why the unit or its application is ending; empty while it is not.
	Leaving Reason
	// Relations in order of id.
	Relations []Relation
}

// Relation is one relation as the unit sees it.
type Relation struct {
	// UID is its identity, ID its name for people and tools, unique in the
	// namespace of the requirer and never used again.
	UID string
	ID  int
	// Endpoint and Role are the unit's own.
	Endpoint  string
	Role      Role
	Interface string
	// Version of the interface, 0 where neither side names one.
	Version int
	// Remote is the other application; of a peer relation it is the unit's own.
	Remote string
	Life   Life
	// EndReason is why it ends or is suspended.
	EndReason Reason
	// Final says that it never comes back, so that data may be deleted
	// (SAFETY.md E14).
	Final bool
	// Units are the other units in scope, with their bags. Of a peer relation they
	// are the other units of the application. In order.
	Units []Member
	// Departed are the units that are out of scope for good: tombstones.
	Departed []Tombstone
	// RemoteBag is the other application's bag; of a peer relation it is empty.
	RemoteBag Bag
	// OwnBag is the unit's own bag.
	OwnBag Bag
	// OwnApplicationBag is its application's bag: its leader may read it, and of a
	// peer relation every unit (RELATIONS.md P).
	OwnApplicationBag Bag
}

// Member is another unit in scope of a relation.
type Member struct {
	Unit Unit
	Bag  Bag
}

// Tombstone is a unit that has departed for good.
type Tombstone struct {
	Unit   Unit
	Reason Reason
	// Bag is what it said last, as long as it is kept (RELATIONS.md P2).
	Bag Bag
}
