package relation

import (
	"cmp"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/leadership"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// View is what one application may see of its relations.
type View struct {
	Application string
	Units       []application.Unit
	// Leader may write the application's bags.
	Leader leadership.Leader
	// Relations in order of id.
	Relations []Seen
	// Waiting lists the endpoints that have no complete relation.
	Waiting []Waiting
}

// Seen is one relation as one side sees it.
type Seen struct {
	Relation
	// Role is the side's own; Here is its end and There the other. Of a peer
	// relation both are its own.
	Role        application.Role
	Here, There End
	// Bag is the other application's; a peer relation has none.
	Bag map[string]string
	// Granted is the Secret that the other application grants by reference.
	Granted conversation.Granted
	// OwnBag is the application's own, for its leader and for peers; Own are the
	// bags of its units, each for that unit alone (RELATIONS.md P).
	OwnBag map[string]string
	Own    []Member
	// OwnWriter is the number of the unit that wrote OwnBag of a peer relation last;
	// empty where that is not known (RELATIONS.md E8).
	OwnWriter string
	// Units are those of the other side in scope, of a peer relation the
	// application's own, in order of number.
	Units []Member
	// Departed are those that have left for good.
	Departed []Tombstone
	// Complete says of a requirer that the data its start gate waits for is there:
	// both applications are, and the bag is not empty (SAFETY.md V5).
	Complete bool
	// Reason and Message say why it is not.
	Reason  string
	Message string
}

// Member is a unit in scope of a relation.
type Member struct {
	Number int
	Bag    map[string]string
}

// Tombstone is a unit that has departed for good (SAFETY.md E13).
type Tombstone struct {
	conversation.Departure
	// Bag is what it said last, as long as that is kept (SAFETY.md P2).
	Bag map[string]string
}

// Shelf is where it is found what is said: each returns nil for what is not known.
type Shelf struct {
	// Bag returns what an application says in a relation.
	Bag func(Relation, End) map[string]string
	// Writer returns the number of the unit that wrote all of that last; empty where
	// none did, or something is said to everybody, which may be newer.
	Writer func(Relation, End) string
	// Said returns what a unit of an end has said in a relation.
	Said func(r Relation, e End, unit int) map[string]string
	// Units returns the units of the application of an end, Grants what it grants.
	Units  func(End) []application.Unit
	Grants func(End) []Grant
}

// Look returns what an application may see: those relations of its that have an
// id. Across namespaces nothing is seen of the other side without its consent
// (RELATIONS.md M6).
func Look(namespace string, record Record, relations []Relation, shelf Shelf) View {
	v := View{Application: record.Name, Units: record.State.Units, Waiting: record.State.Waiting}
	for _, r := range relations {
		if r.State.ID == 0 {
			continue
		}
		if seen, concerned := r.seenFrom(namespace, record.Name); concerned {
			seen.read(shelf)
			v.Relations = append(v.Relations, seen)
		}
	}
	slices.SortFunc(v.Relations, func(a, b Seen) int { return Compare(a.Relation, b.Relation) })
	return v
}

// seenFrom returns the relation as an application sees it, and whether it is one
// of its ends at all. A provider in another namespace does not see what its own has
// never consented to.
func (r Relation) seenFrom(namespace, name string) (s Seen, concerned bool) {
	s = Seen{Relation: r}
	isEnd := func(e End) bool { return e.Namespace == namespace && e.Application == name }
	switch {
	case r.Peer():
		s.Role, s.Here, s.There = application.Peer, r.Requirer, r.Requirer
	case isEnd(r.Requirer):
		s.Role, s.Here, s.There = application.Requirer, r.Requirer, r.Provider
	default:
		s.Role, s.Here, s.There = application.Provider, r.Provider, r.Requirer
	}
	return s, isEnd(s.Here) && (s.Role == application.Requirer || r.Opened())
}

// read takes from the shelf what the side may see: its own, and of the other side
// nothing while the relation is not open (SAFETY.md M7).
func (s *Seen) read(shelf Shelf) {
	ready := condition.Why(s.State.Conditions)
	s.Reason, s.Message = ready.Reason, ready.Message
	s.OwnBag = shelf.Bag(s.Relation, s.Here)
	s.Own = s.members(shelf, s.Here)
	if !s.Open() {
		return
	}
	if s.Role == application.Peer {
		s.OwnWriter = shelf.Writer(s.Relation, s.Here)
	} else {
		s.Bag = shelf.Bag(s.Relation, s.There)
		s.readGranted(shelf.Grants(s.There))
	}
	s.Complete = s.Role == application.Requirer && s.Relation.Complete() && len(s.Bag) > 0
	s.Units = s.members(shelf, s.There)
	for _, d := range s.State.Departures {
		if d.Unit == s.Unit(s.There, d.Unit.Number) {
			s.Departed = append(s.Departed, Tombstone{d, s.said(shelf, s.There, d.Unit.Number, d.Address)})
		}
	}
}

// readGranted puts the reference to what the other side grants above what it says.
func (s *Seen) readGranted(grants []Grant) {
	g, granted := s.Relation.Granted(s.There, grants)
	if !granted {
		return
	}
	s.Bag = databag.Overlay(s.Bag, g.Layer(s.There))
	s.Granted = conversation.Granted{ID: secret.GrantedID(s.There.Namespace, s.There.Application, s.There.Endpoint), Revision: g.Revision}
}

// members returns the units of an end that are in scope, in order of number: those
// that have an address (RELATIONS.md L2).
func (s *Seen) members(shelf Shelf, e End) []Member {
	var members []Member
	for _, u := range shelf.Units(e) {
		if u.Gone == "" && u.Address != "" {
			members = append(members, Member{u.Number, s.said(shelf, e, u.Number, u.Address)})
		}
	}
	slices.SortFunc(members, func(a, b Member) int { return cmp.Compare(a.Number, b.Number) })
	return members
}

// said is a unit's bag. Its address is in it, also when it has departed: who serves
// that must learn which to forget (RELATIONS.md L2, P2).
func (s *Seen) said(shelf Shelf, e End, unit int, address string) map[string]string {
	return databag.Overlay(UnitBag(address), shelf.Said(s.Relation, e, unit))
}

// UnitBag returns what a unit's bag holds before anybody sees the unit
// (RELATIONS.md L2).
func UnitBag(address string) map[string]string {
	bits := "/32"
	if strings.Contains(address, ":") {
		bits = "/128"
	}
	return map[string]string{"ingress-address": address, "private-address": address, "egress-subnets": address + bits}
}
