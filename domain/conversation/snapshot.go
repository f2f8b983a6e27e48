package conversation

import (
	"slices"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
)

// Bag is a databag: keys to values.
type Bag = map[string]string

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
	// Term of that leadership; another each time that it is given (SAFETY.md P1).
	Term int64
	// Leaving is why the unit or its application is ending; empty while it is not.
	Leaving Reason
	// Returns is set while the unit's pod ends and another one takes its place.
	Returns bool
	// Deadline is when the grace period of the unit's pod is over; zero while that does not end.
	Deadline time.Time
	// Batch asks for a whole first join as one event (RELATIONS.md E12).
	Batch bool
	// Relations in any order; Bags has the contents of their bags.
	Relations []Relation
	Bags      Bags
	// Secrets that the unit reads or cares for, in any order, and what time it is:
	// without Now nothing is due.
	Secrets []Secret
	Now     time.Time
}

// With returns the snapshot with changes of the unit's own side in it: a unit reads
// its own writes before it is shown them (SAFETY.md V4).
func (s Snapshot) With(changes []Change) Snapshot {
	s.Relations = slices.Clone(s.Relations)
	written := BagMap{}
	s.Bags = written.Over(s.Bags)
	for _, c := range changes {
		for i := range s.Relations {
			r := &s.Relations[i]
			switch {
			case r.UID != c.Relation:
			case c.Owner == s.Unit.String():
				r.OwnBag = written.Put(c.Apply(s.Bag(r.OwnBag)))
			default:
				r.OwnApplicationBag, r.OwnApplicationWriter = written.Put(c.Apply(s.Bag(r.OwnApplicationBag))), s.Unit
			}
		}
	}
	return s
}

// Relation is one relation as the unit sees it.
type Relation struct {
	// UID is its identity, and ID its number in the namespace, never used again.
	UID string
	ID  int
	// Endpoint and Role are the unit's own.
	Endpoint  string
	Role      application.Role
	Interface string
	// Version of the interface, 0 where neither side names one.
	Version int
	// Remote is the other application as the unit's namespace names it; of a peer relation it is the
	// unit's own.
	Remote string
	// There is the other end; of a peer relation its only one.
	There End
	Life  Life
	// EndReason is why it ends or is suspended.
	EndReason Reason
	// Final says that it never comes back, so that data may be deleted
	// (SAFETY.md E14).
	Final bool
	// End is the end as it is owed, of a relation that has ended (TRUST.md T2).
	End Owing
	// Units are the other units in scope, with their bags, in any order. In a peer relation they are the other units
	// of the application.
	Units []Member
	// Departed are the units that went out of scope for good: tombstones. A unit
	// that is also in Units has come back, unless the relation has ended.
	Departed []Tombstone
	// RemoteBag is the other application's bag; of a peer relation it is empty. None
	// and an empty one are the same.
	RemoteBag databag.Ref
	// Granted is the Secret that the other application grants by reference.
	Granted Granted
	// Complete reports whether the data that a start gate waits for is there (SAFETY.md V5); Reason and
	// Message say why it is not.
	Complete        bool
	Reason, Message string
	// Held reports whether a declaration of it has vanished (SAFETY.md L5).
	Held bool
	// Unseen reports that the other units do not see the unit in it yet, since its address is unknown: it receives no
	// events before that, and finds its address when it does (RELATIONS.md L2).
	Unseen bool
	// OwnBag is the unit's own bag.
	OwnBag databag.Ref
	// OwnApplicationBag is its application's bag: its leader may read it, and of a
	// peer relation every unit (RELATIONS.md P).
	OwnApplicationBag databag.Ref
	// OwnApplicationWriter wrote OwnApplicationBag last, as far as that is known.
	OwnApplicationWriter Unit
}

// Granted is a user's Secret that an application grants by reference: the zero value for none (SAFETY.md S1). Readers
// cannot keep to one of its revisions: it is read as it is.
type Granted struct {
	ID string
	// Revision is the last one that was seen.
	Revision int
}

// ended reports whether the relation never comes back and data may be deleted.
func (r *Relation) ended() bool { return r.Life == Ending && r.Final }

// member returns another unit in scope.
func (r *Relation) member(u Unit) (Member, bool) {
	for _, m := range r.Units {
		if m.Unit == u {
			return m, true
		}
	}
	return Member{}, false
}

// tombstone returns what is left of a unit that departed for good: all have where the relation has ended.
func (r *Relation) tombstone(u Unit) (Tombstone, bool) {
	if _, back := r.member(u); back && !r.ended() {
		return Tombstone{}, false
	}
	for _, t := range r.Departed {
		if t.Unit == u {
			return t, true
		}
	}
	return Tombstone{}, false
}

// bagOf returns the bag of another unit, in scope or departed. What is in
// neither list is not known (SAFETY.md E13).
func (r *Relation) bagOf(u Unit) (bag databag.Ref, known bool) {
	if m, in := r.member(u); in {
		return m.Bag, true
	}
	t, ended := r.tombstone(u)
	return t.Bag, ended
}

// applicationBag is the bag of the application that the unit talks with: the
// other one, or among peers its own.
func (r *Relation) applicationBag() databag.Ref {
	if r.Role == application.Peer {
		return r.OwnApplicationBag
	}
	return r.RemoteBag
}

// Member is another unit in scope of a relation.
type Member struct {
	Unit Unit
	Bag  databag.Ref
}

// Tombstone is a unit that has departed for good.
type Tombstone struct {
	Unit   Unit
	Reason Reason
	// Since is when it was found gone.
	Since time.Time
	// Bag is the unit's last bag as long as it is kept (RELATIONS.md P2), then zero.
	Bag databag.Ref
	// Owing is the departure as it is owed (SAFETY.md E15).
	Owing
}
