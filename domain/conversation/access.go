package conversation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
)

// Read returns a copy of a bag, if it exists and the unit may read it (RELATIONS.md P). A bag that was never written
// is empty. An error is an *Error.
func Read(s Snapshot, at Address) (Bag, error) {
	r, err := s.find(at)
	if err != nil {
		return nil, err
	}
	u, isUnit := at.Unit()
	own, peers := at.Application() == s.Unit.Application, r.Role == application.Peer
	var bag databag.Ref
	switch {
	case isUnit && u == s.Unit:
		bag = r.OwnBag
	case isUnit && own && !peers:
		return nil, forbidden("read", at, fmt.Sprintf("only %s and the units of %s may", u, r.Remote))
	case isUnit:
		bag, err = r.read(u)
	case own && !peers && !s.Leader:
		return nil, forbidden("read", at, fmt.Sprintf("only the leader of %s and the units of %s may", s.Unit.Application, r.Remote))
	case own:
		bag = r.OwnApplicationBag
	default:
		bag = r.RemoteBag
	}
	if err != nil {
		return nil, err
	}
	return copied(s.Bag(bag)), nil
}

// copied is a bag that the caller may change; never nil.
func copied(bag Bag) Bag {
	to := make(Bag, len(bag))
	maps.Copy(to, bag)
	return to
}

// read returns the bag of another unit, also of one that departed as long as that
// is kept (RELATIONS.md P2).
func (r *Relation) read(u Unit) (databag.Ref, error) {
	bag, known := r.bagOf(u)
	_, ended := r.tombstone(u)
	switch {
	case ended && bag.IsZero(), !known && r.Life == Ending:
		return databag.Ref{}, &Error{Kind: Gone,
			Message: fmt.Sprintf("cannot read the databag of %s: it has departed, and its data is not kept any more", u),
			Cure:    "save what you need while the unit is in the relation"}
	case !known:
		return databag.Ref{}, &Error{Kind: NotYet,
			Message: fmt.Sprintf("cannot read the databag of %s: the unit is not known to be in the relation", u),
			Cure:    "wait until it joins; relation-list names those that have"}
	default:
		return bag, nil
	}
}

// MayWrite returns why the unit may not write a bag now, or nil (RELATIONS.md P).
// That it leads must still be proved where the write is stored: Leader.MayWrite. An
// error is an *Error.
func MayWrite(s Snapshot, at Address) error {
	r, err := s.find(at)
	if err != nil {
		return err
	}
	u, isUnit := at.Unit()
	switch {
	case isUnit && u != s.Unit:
		return forbidden("write", at, fmt.Sprintf("only %s may", u))
	case !isUnit && (at.Owner != s.Unit.Application || !s.Leader):
		return forbidden("write", at, fmt.Sprintf("only the leader of %s may", at.Owner))
	case r.Life == Ending:
		return &Error{Kind: Gone, Message: fmt.Sprintf("cannot write the databag of %s: relation %s has ended", at.Owner, r.name()),
			Cure: "write into another relation; relation-ids lists them"}
	case r.Life == Suspended:
		return &Error{Kind: NotYet, Message: fmt.Sprintf("cannot write the databag of %s: relation %s is suspended", at.Owner, r.name()),
			Cure: "write it when the relation is created again"}
	default:
		return nil
	}
}

// find returns the relation of an address that makes sense in it.
func (s *Snapshot) find(at Address) (*Relation, error) {
	var r *Relation
	for i := range s.Relations {
		if s.Relations[i].UID == at.Relation {
			r = &s.Relations[i]
		}
	}
	_, isUnit := at.Unit()
	switch {
	case r == nil:
		return nil, &Error{Kind: NotYet, Message: fmt.Sprintf("cannot find relation %q: %s is not known to be in it", at.Relation, s.Unit),
			Cure: "relation-ids lists those that it is in"}
	case !slices.Contains(r.applications(s.Unit), at.Application()), strings.Contains(at.Owner, "/") && !isUnit:
		return nil, &Error{Kind: Invalid, Message: fmt.Sprintf("cannot find the databag of %q in relation %s", at.Owner, r.name()),
			Cure: fmt.Sprintf("name %s or a unit of it", strings.Join(r.applications(s.Unit), ", "))}
	default:
		return r, nil
	}
}

// applications are those in the relation.
func (r *Relation) applications(of Unit) []string {
	if r.Role == application.Peer {
		return []string{of.Application}
	}
	return []string{of.Application, r.Remote}
}

// name returns the relation's name in tools.
func (r *Relation) name() string { return fmt.Sprintf("%s:%d", r.Endpoint, r.ID) }

func forbidden(verb string, at Address, who string) error {
	return &Error{Kind: Forbidden, Message: fmt.Sprintf("cannot %s the databag of %s", verb, at.Owner), Cure: who}
}
