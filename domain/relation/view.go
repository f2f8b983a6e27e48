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

// View is the part of its relations that one application may see.
type View struct {
	Application string
	Units       []application.Unit
	// Leader may write the application's bags.
	Leader leadership.Leader
	// Relations in order of id; Bags has the contents of their bags.
	Relations []Seen
	Bags      conversation.Bags
	// Waiting lists the endpoints that have no complete relation.
	Waiting []Waiting
}

// Seen is one relation as one side sees it.
type Seen struct {
	Relation
	// Here is the side's end; of a peer relation its only one.
	Here End
	// Shown is the part that all units of the side see.
	Shown conversation.Relation
	// OwnBag is the application's own, for its leader and for peers; Own are its units in scope, each
	// with a bag for that unit alone (RELATIONS.md P).
	OwnBag databag.Ref
	Own    []conversation.Member
	// OwnWriter is the number of the unit that wrote OwnBag of a peer relation last;
	// empty where that is not known (RELATIONS.md E8).
	OwnWriter string
	// ended is the end of the relation, as the side owes it; nil while it has not ended.
	ended *Teardown
}

// Shelf is where it is found what is said: each returns nil for what is not known.
type Shelf struct {
	// Bag returns what an application says in a relation.
	Bag func(Relation, End) map[string]string
	// Writer returns the number of the unit that wrote all of that last; empty if none did, or if data is for every
	// relation, which may be newer.
	Writer func(Relation, End) string
	// Said returns what a unit of an end has said in a relation.
	Said func(r Relation, e End, unit int) map[string]string
	// Units returns the units of the application of an end, Grants what it grants.
	Units  func(End) []application.Unit
	Grants func(End) []Grant
}

// Look returns what an application may see: its relations that have an id, each as its side keeps it, and the
// ended ones whose end its side owes. Across namespaces nothing is seen of the other side without its consent
// (RELATIONS.md M6).
func Look(namespace string, record Record, relations []Relation, sides []Side, shelf Shelf) View {
	contents := conversation.BagMap{}
	v := View{Application: record.Name, Units: record.State.Units, Waiting: record.State.Waiting, Bags: contents}
	for _, seen := range see(namespace, record, relations, sides) {
		seen.read(shelf, contents)
		v.Relations = append(v.Relations, seen)
	}
	slices.SortFunc(v.Relations, func(a, b Seen) int {
		return cmp.Or(cmp.Compare(a.Shown.ID, b.Shown.ID), strings.Compare(a.UID, b.UID))
	})
	return v
}

// see returns the relations that an application may see, without bags.
func see(namespace string, record Record, relations []Relation, sides []Side) []Seen {
	kept, theirs := sidesOf(namespace, record.Name, sides), providersOf(namespace, record.Name, sides)
	handles := slices.ContainsFunc(record.State.Units, func(u application.Unit) bool { return u.Gone == "" && u.Handles })
	var all []Seen
	for _, r := range relations {
		seen, concerned := r.SeenFrom(namespace, record.Name)
		side, is := kept[sideKey{r.UID, seen.Shown.Role}]
		delete(kept, sideKey{r.UID, seen.Shown.Role})
		if provider, waits := theirs[r.UID]; waits && !is && provider.undecided() {
			seen.goesOn()
		}
		delete(theirs, r.UID)
		if concerned && r.State.ID > 0 && seen.by(side, is, handles) {
			all = append(all, seen)
		}
	}
	for _, side := range kept {
		delete(theirs, side.Relation)
		if side.Owes() {
			seen := Seen{Relation: side.relation(), Here: side.Here()}
			seen.show()
			seen.by(side, true, handles)
			all = append(all, seen)
		}
	}
	if !handles {
		all = append(all, decided(theirs)...)
	}
	return all
}

// decided returns the relations that have ended although no Relation tells: their ends were held when that went. Between
// namespaces they have no id: agents that know the relation know its id here.
func decided(providers map[string]Side) []Seen {
	var all []Seen
	for _, provider := range providers {
		if !provider.decided() {
			continue
		}
		seen := Seen{Relation: provider.relation(), Here: provider.Requirer}
		if provider.Abroad() {
			seen.State.ID = 0
		}
		seen.show()
		all = append(all, seen)
	}
	return all
}

// sideKey identifies a side by its relation's identity and its role.
type sideKey struct {
	relation string
	role     application.Role
}

// sidesOf returns the sides of an application.
func sidesOf(namespace, name string, sides []Side) map[sideKey]Side {
	all := map[sideKey]Side{}
	for _, s := range sides {
		if e := s.Here(); e.Namespace == namespace && e.Application == name {
			all[sideKey{s.Relation, s.Role}] = s
		}
	}
	return all
}

// providersOf returns the providers' sides of the relations that an application requires, by the relations' identities.
func providersOf(namespace, name string, sides []Side) map[string]Side {
	all := map[string]Side{}
	for _, s := range sides {
		if s.Role == application.Provider && s.Requirer.Namespace == namespace && s.Requirer.Application == name {
			all[s.Relation] = s
		}
	}
	return all
}

// goesOn shows a relation that has ended as one that has not: its end is not noted yet, or held.
func (s *Seen) goesOn() {
	if !s.Ended() {
		return
	}
	s.Shown.Life, s.Shown.EndReason, s.Shown.Final = conversation.Alive, "", false
	if !s.Open() {
		s.Shown.Life, s.Shown.EndReason = conversation.Suspended, conversation.SuspendedReason
	}
}

// by shows the relation as its side keeps it, and reports whether the application may see it: not while there is
// no side, if units with handlers could hear of it or its provider is in another namespace, and not while its end is
// held.
func (s *Seen) by(side Side, kept, handles bool) bool {
	if !kept {
		return !handles && (s.Shown.Role == application.Requirer || !s.Abroad())
	}
	s.Shown.ID = side.ID
	switch {
	case side.Held():
		return false
	case side.Teardown != nil:
		s.Shown.Life, s.Shown.EndReason, s.Shown.Final = conversation.Ending, conversation.RelationRemoved, true
		s.Shown.End, s.ended = side.Teardown.Owing(), side.Teardown
	case side.Known: // it is about to take note of an end
		s.goesOn()
	}
	return true
}

// SeenFrom returns the relation as an application sees it, without bags, and whether it is one of its
// ends. A provider does not see a relation from another namespace that its own has never consented to.
func (r Relation) SeenFrom(namespace, name string) (s Seen, concerned bool) {
	isEnd := func(e End) bool { return e.Namespace == namespace && e.Application == name }
	s = Seen{Relation: r, Here: r.Provider}
	if r.Peer() || isEnd(r.Requirer) {
		s.Here = r.Requirer
	}
	s.show()
	return s, isEnd(s.Here) && (s.Shown.Role == application.Requirer || r.Opened())
}

// show fills what is shown of the relation itself. One that has ended is over for good, one that is not open
// may come back (SAFETY.md E14).
func (s *Seen) show() {
	there := s.Other(s.Here)
	ready := condition.Why(s.State.Conditions)
	s.Shown = conversation.Relation{
		UID: s.UID, ID: s.State.ID, Endpoint: s.Here.Endpoint, Role: s.Role(s.Here),
		Interface: s.Interface, Version: s.Version, Remote: there.From(s.Here.Namespace), There: there,
		Life: conversation.Alive, Reason: ready.Reason, Message: ready.Message, Held: s.Held(),
	}
	switch {
	case s.Ended():
		s.Shown.Life, s.Shown.EndReason, s.Shown.Final = conversation.Ending, conversation.RelationRemoved, true
	case !s.Open():
		s.Shown.Life, s.Shown.EndReason = conversation.Suspended, conversation.SuspendedReason
	}
}

// read takes from the shelf what the side may see: its own, and of the other side
// nothing while the relation is not open (SAFETY.md M7). It adds the contents of the bags.
func (s *Seen) read(shelf Shelf, contents conversation.BagMap) {
	s.OwnBag = contents.Put(shelf.Bag(s.Relation, s.Here))
	s.Own = s.members(shelf, s.Here, contents)
	if s.Open() {
		s.readOther(shelf, contents)
	}
	s.bury()
}

// readOther takes from the shelf what the side may see of the other one.
func (s *Seen) readOther(shelf Shelf, contents conversation.BagMap) {
	there := s.Shown.There
	if s.Shown.Role == application.Peer {
		s.OwnWriter = shelf.Writer(s.Relation, s.Here)
	} else {
		s.Shown.RemoteBag = contents.Put(s.withGranted(shelf.Bag(s.Relation, there), shelf.Grants(there)))
	}
	s.Shown.Complete = s.Shown.Role == application.Requirer && s.Complete() && !s.Shown.RemoteBag.Empty()
	s.Shown.Units = s.members(shelf, there, contents)
	for _, d := range s.State.Departures {
		if d.Unit == s.Unit(there, d.Unit.Number) {
			last := contents.Put(s.said(shelf, there, d.Unit.Number, d.Address))
			s.Shown.Departed = append(s.Shown.Departed, s.tombstone(d, last))
		}
	}
}

// tombstone returns a departure as the side knows it, with the unit's last bag as long as that is retained
// (SAFETY.md P2).
func (s *Seen) tombstone(d conversation.Departure, bag databag.Ref) conversation.Tombstone {
	return conversation.Tombstone{
		Unit:   conversation.Unit{Application: s.Shown.Remote, Number: d.Unit.Number},
		Reason: d.Reason, Since: d.Since, Bag: bag, Owing: d.Owing(),
	}
}

// bury adds the units that the end of the relation has taken away (TRUST.md T2).
func (s *Seen) bury() {
	if s.ended == nil {
		return
	}
	for _, number := range s.ended.Others {
		unit := conversation.Unit{Application: s.Shown.Remote, Number: number}
		if !slices.ContainsFunc(s.Shown.Departed, func(t conversation.Tombstone) bool { return t.Unit == unit }) {
			t := conversation.Tombstone{Unit: unit, Reason: s.Shown.EndReason, Since: s.ended.Since}
			s.Shown.Departed = append(s.Shown.Departed, t)
		}
	}
}

// withGranted returns the other side's bag with the reference to a granted Secret above all else, and
// shows that Secret.
func (s *Seen) withGranted(bag map[string]string, grants []Grant) map[string]string {
	there := s.Shown.There
	g, granted := s.Granted(there, grants)
	if !granted {
		return bag
	}
	id := secret.GrantedID(there.Namespace, there.Application, there.Endpoint)
	s.Shown.Granted = conversation.Granted{ID: id, Revision: g.Revision}
	return databag.Overlay(bag, g.Layer(there))
}

// members returns the units of an end that are in scope, in order of number: those
// that have an address (RELATIONS.md L2).
func (s *Seen) members(shelf Shelf, e End, contents conversation.BagMap) []conversation.Member {
	var members []conversation.Member
	for _, u := range shelf.Units(e) {
		if u.Gone == "" && u.Address != "" {
			unit := conversation.Unit{Application: e.From(s.Here.Namespace), Number: u.Number}
			bag := contents.Put(s.said(shelf, e, u.Number, u.Address))
			members = append(members, conversation.Member{Unit: unit, Bag: bag})
		}
	}
	slices.SortFunc(members, func(a, b conversation.Member) int { return cmp.Compare(a.Unit.Number, b.Unit.Number) })
	return members
}

// said is a unit's bag. Its address is in it, also when it has departed: who serves
// that must learn which to forget (RELATIONS.md L2, P2).
func (s *Seen) said(shelf Shelf, e End, unit int, address string) map[string]string {
	return databag.Overlay(UnitBag(address), shelf.Said(s.Relation, e, unit))
}

// UnitBag returns the content of a unit's bag before other units see the unit (RELATIONS.md L2).
func UnitBag(address string) map[string]string {
	bits := "/32"
	if strings.Contains(address, ":") {
		bits = "/128"
	}
	return map[string]string{"ingress-address": address, "private-address": address, "egress-subnets": address + bits}
}
